"""events.jsonl: what it says, that it is small, and that it grows only so far."""

import json

import pytest

from tagma.server.results import run_events
from tagma.settings import compose
from tests.conftest import SMALL


@pytest.fixture
def every_round(monkeypatch):
    monkeypatch.setattr(run_events, "_LEAST", 0.0)
    monkeypatch.setattr(run_events, "_SHARE", 0)


def lines(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_the_first_line_says_what_begins_and_what_is_known_of_the_truth(run_small, tmp_path):
    run_small("attack=sign_flip", "attack.clients=[3,5]")
    first = lines(tmp_path)[0]
    assert (first["event"], first["clients"], first["rounds"]) == ("begin", 20, 4)
    assert first["byzantine"] == [3, 5]
    assert len(first["labels"]) == 20
    assert first["scores"][0]["name"] == "estimation_error"


@pytest.mark.usefixtures("every_round")
def test_a_line_has_only_the_clients_of_which_something_changed(run_small, tmp_path):
    run_small("preset=tagma", "absence.clients=[4]", "absence.rounds=[3,3]", "rounds=4")
    rounds = [line for line in lines(tmp_path) if line["event"] == "round"]
    assert [line["round"] for line in rounds] == [1, 2, 3, 4, 5]
    assert [row[0] for row in rounds[0]["clients"]] == list(range(20))
    assert rounds[2]["happened"] == [[3, "rejected", 4, "no reply"]]
    of_the_absent = [
        [row for row in line.get("clients", []) if row[0] == 4] for line in rounds[1:4]
    ]
    assert [bool(rows) for rows in of_the_absent] == [False, True, True]
    assert of_the_absent[1][0][-1] == 2, "its last reply was that of round 2"
    assert of_the_absent[2][0][-1] == 0, "it keeps up again"


@pytest.mark.usefixtures("every_round")
def test_the_picture_is_that_of_the_result(run_small, tmp_path):
    run_small("preset=tagma")
    (picture,) = [line["picture"] for line in lines(tmp_path) if "picture" in line]
    rows = [line.split(",") for line in (tmp_path / "clusters.csv").read_text().splitlines()[1:]]
    for (client, x, y), row in zip(picture["places"], rows, strict=True):
        assert [client, x, y] == pytest.approx(
            [int(row[0]), float(row[5]), float(row[6])], rel=1e-4
        )


def test_rounds_that_follow_each_other_fast_share_a_line_and_none_is_lost(
    run_small, tmp_path, monkeypatch
):
    monkeypatch.setattr(run_events, "_LEAST", 1e6)
    run_small("absence.clients=[4]", "absence.rounds=[2,4]", "rounds=5")
    rounds = [line for line in lines(tmp_path) if line["event"] == "round"]
    assert [line["round"] for line in rounds] == [1, 6]
    assert [entry[0] for entry in rounds[1]["happened"]] == [2, 3, 4]


def test_the_file_grows_only_so_far(run_small, tmp_path, monkeypatch):
    monkeypatch.setattr(run_events, "MOST", 2000)
    monkeypatch.setattr(run_events, "_LEAST", 0.0)
    run_small("rounds=20")
    assert 0 < (tmp_path / "events.jsonl").stat().st_size <= 2000


def test_a_link_in_its_place_is_not_followed(run_small, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "events.jsonl").symlink_to(precious)
    run_small()
    assert precious.read_text() == "mine"
    assert lines(tmp_path)


def test_what_ends_a_run_is_said(tmp_path, run_small):
    def broken(message, context):
        raise ValueError("no\nway")

    with pytest.raises(Exception, match="round 1"):
        run_small(client=broken)
    assert lines(tmp_path)[-1]["event"] == "broke"
    assert "\n" not in lines(tmp_path)[-1]["why"]


def test_a_resumed_run_keeps_the_lines_of_its_rounds(tmp_path):
    said = [{"event": "begin"}, {"event": "round", "round": 1}, {"event": "round", "round": 4}]
    text = "".join(json.dumps(one) + "\n" for one in said)
    (tmp_path / "events.jsonl").write_text(text)
    assert len(run_events.kept_lines(tmp_path, 3)) == 2
    assert len(run_events.kept_lines(tmp_path, 4)) == 3
    (tmp_path / "events.jsonl").write_text(text + '{"half')
    assert len(run_events.kept_lines(tmp_path, 4)) == 3
    for hostile in ("[1]\n", "5\n", '{"round": "x"}\n', "[" * 100_000 + "\n"):
        (tmp_path / "events.jsonl").write_text(hostile)
        assert run_events.kept_lines(tmp_path, 4) == []


def test_settings_of_the_watching_change_no_number_and_no_identity():
    from tagma.server.run_identity import identity_of

    assert identity_of(compose(SMALL)) == identity_of(compose([*SMALL, "live=true", "pause=2"]))
