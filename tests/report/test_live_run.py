"""What is read of a run under way: its words, and that a stranger's folder can do no harm."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tagma.report.live_page import LivePage, title
from tagma.report.live_run import MOST_CLIENTS, MOST_LOG, LiveRun

BEGIN = {
    "event": "begin", "at": 1.0, "engine": "inprocess", "clients": 3, "rounds": 11, "seed": 0,
    "settings": {"task": "t", "clustering": "density", "pre": []}, "resumed": 0,
    "labels": [0, 0, 1],
    "byzantine": [2], "scores": [{"name": "e", "title": "error", "better": "low", "of": None}],
}  # fmt: skip
FIRST = {
    "event": "round", "at": 2.0, "round": 1, "work": "local_model", "models": 2,
    "clients": [[0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0], [2, 1, 1, 1, 0, 0, 1, 0]],
    "nodes": [[0, "77"]],
    "picture": {"places": [[0, 1, 2], [1, 1, 2.5], [2, 9, 9]], "centres": [[1, 2], [9, 9]],
                "radii": [1, None], "stopped": "fixed point"},
}  # fmt: skip


def later(number, **more):
    base = {"event": "round", "at": 1.0 + number, "round": number, "work": "gradient", "models": 2}
    return base | more


def written(folder: Path, *lines) -> LiveRun:
    with (folder / "events.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    run = LiveRun(folder)
    run.read()
    return run


def words(run: LiveRun) -> list[str]:
    return [entry.words for entry in run.log]


def test_an_excluded_client_is_said_to_be_so_and_why(tmp_path):
    run = written(
        tmp_path, BEGIN, FIRST,
        later(6, clients=[[1, 0, 0, 0, 0, 1, 1, 0]]),
        later(7, clients=[[1, 0, 0, 0, 1, 2, 1, 0]]),
        later(9, clients=[[1, 0, 0, 0, 0, 0, 0, 0]]),
    )  # fmt: skip
    assert words(run)[1:] == [
        "client 2 in quarantine: its local model lies outside the ball of its cluster",
        "client 1: a reply contradicts its first model (strike 1)",
        "client 1 excluded: its replies contradict its first model",
        "client 1: takes part again, its replies agree with its first model",
    ]
    assert [entry.round for entry in run.log] == [1, 1, 6, 7, 9]


def test_absence_is_said_once_and_so_is_the_return(tmp_path):
    gone = [5, "rejected", 0, "no reply"]
    run = written(
        tmp_path, BEGIN, FIRST,
        later(5, happened=[gone], clients=[[0, 0, 0, 0, 0, 0, 0, 4]]),
        later(6, happened=[[6, *gone[1:]]]),
    )  # fmt: skip
    assert run.clients[0].absent
    assert run.clients[0].why == "no reply since round 5"
    written(tmp_path, later(7, clients=[[0, 0, 0, 0, 0, 0, 0, 0]]))
    run.read()
    assert not run.clients[0].absent
    assert words(run)[2:] == ["client 0: no answer (no reply)", "client 0: answering again"]


def test_the_page_as_it_is_opened_has_the_clients_as_they_are(tmp_path):
    written(tmp_path, BEGIN)
    page = LivePage(tmp_path)
    assert page.shell("x").count("not there yet") == 3
    written(tmp_path, FIRST)
    assert "not there yet" not in page.shell("x")
    assert page.shell("x").count(">online<") == 2


def test_who_answers_when_a_round_is_tried_again_is_there(tmp_path):
    again = [[5, "rejected", 0, "no reply"], [5, "repeated", 1]]
    run = written(tmp_path, BEGIN, FIRST, later(5, happened=again))
    assert not run.clients[0].absent
    assert words(run)[2:] == ["too few clients answered at first: the round was tried again"]


def test_late_clients_appear(tmp_path):
    join = later(
        4, happened=[[4, "joined", 3]], clients=[[3, 1, 0, 0, 0, 0, 0, 0]], nodes=[[3, "9"]]
    )
    run = written(tmp_path, BEGIN, FIRST, join)
    assert "client 3 joined and has cluster 1" in words(run)
    assert run.clients[3].node == "9"


def test_the_time_left_is_that_of_the_last_rounds(tmp_path):
    run = written(tmp_path, BEGIN, FIRST, later(2, at=4.0), later(3, at=6.0))
    assert run.left() == pytest.approx(16.0)
    assert "round 4 of 11" in title(run)
    assert "16 s left" in title(run)


def test_a_new_run_in_the_folder_takes_the_place_of_the_old_one(tmp_path):
    run = written(tmp_path, BEGIN, FIRST, later(8))
    (tmp_path / "events.jsonl").write_text(json.dumps(BEGIN | {"at": 5.0}) + "\n")
    assert run.read()
    assert run.done == 0
    assert not any(one.here for one in run.clients.values())


def test_half_a_line_waits_for_its_other_half(tmp_path):
    run = written(tmp_path, BEGIN)
    text = json.dumps(FIRST) + "\n"
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(text[:30])
    run.read()
    assert run.done == 0
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(text[30:])
    run.read()
    assert run.done == 1


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_read(tmp_path, kind):
    place = tmp_path / "events.jsonl"
    if kind == "link":
        (tmp_path / "secret").write_text(json.dumps(BEGIN) + "\n")
        place.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    run = LiveRun(tmp_path)
    run.read()
    assert not run.begun


def test_no_more_is_kept_than_can_be_shown(tmp_path):
    many = [[n, 0, 0, 0, 0, 0, 0, 0] for n in range(MOST_CLIENTS - 5, MOST_CLIENTS + 5)]
    log = [later(n, happened=[[n, "kept", 1]]) for n in range(2, 3 * MOST_LOG)]
    run = written(tmp_path, BEGIN | {"clients": 10**9}, later(1, clients=many), *log)
    assert len(run.clients) <= MOST_CLIENTS
    assert len(run.log) == MOST_LOG


def test_clients_beyond_those_that_can_be_shown_take_nothing_from_the_others(tmp_path):
    beyond = MOST_CLIENTS + 7
    run = written(
        tmp_path, BEGIN | {"clients": 2 * MOST_CLIENTS},
        FIRST | {"clients": [*FIRST["clients"], [beyond, 0, 0, 0, 0, 0, 0, 0]],
                 "nodes": [[beyond, "78"], [0, "77"]],
                 "happened": [[1, "rejected", beyond, "no reply"], [1, "joined", beyond]]},
    )  # fmt: skip
    assert run.clients[0].node == "77"
    assert run.clients[2].place == (9, 9)
    assert words(run)[0] == f"the first {MOST_CLIENTS:,} of {2 * MOST_CLIENTS:,} clients are shown"
    assert not any(str(beyond) in one for one in words(run))


@pytest.mark.parametrize("models", [10**6, 2**52])
def test_any_number_of_models_is_drawn_at_once(tmp_path, models):
    written(tmp_path, BEGIN | {"labels": [0, 1, 2]}, FIRST | {"models": models},
            later(2, models=models, clients=[[1, models, 0, 0, 0, 0, 0, 0]]))  # fmt: skip
    page = LivePage(tmp_path)
    assert "<h1>" in page.parts()["head"]
    assert len(page.run.run().clusters) <= MOST_CLIENTS


def test_a_file_that_was_written_anew_between_two_looks_is_read_from_its_beginning(tmp_path):
    run = written(tmp_path, BEGIN, FIRST, later(2, work="gradient"))
    again = [BEGIN, FIRST, BEGIN | {"resumed": 1}, later(2, work="local")]
    (tmp_path / "events.jsonl").unlink()
    written(tmp_path, *again)
    run.read()
    assert run.work == "local"
    assert "the run goes on from its checkpoint, before round 2" in words(run)


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.sampled_from(
        [*BEGIN, *FIRST, "happened", "measured", "places", "name"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


LINES = some.sampled_from([BEGIN, FIRST, later(2)])
KEYS = some.sampled_from([*BEGIN, *FIRST, "happened", "measured"])


@given(some.lists(some.tuples(LINES, KEYS, VALUES), max_size=4))
def test_lines_that_are_anything_break_no_page(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("hostile")
    written(folder, *({**line, key: value} for line, key, value in changes), BEGIN, FIRST)
    page = LivePage(folder)
    assert page.parts().keys() >= {"head", "clients", "log"}
    assert "<table" in page.shell("x")


def test_strings_are_escaped_on_the_page(tmp_path):
    evil = "<script>alert(1)</script>"
    written(tmp_path, BEGIN | {"settings": {"task": evil}, "engine": evil}, FIRST,
            later(2, happened=[[2, "rejected", 1, evil]], nodes=[[0, evil]]))  # fmt: skip
    page = LivePage(tmp_path).shell(evil)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
