import io

import pytest
from rich.console import Console

from tagma.launch import summary_table as table


def cluster(**more):
    return {
        "size": 100, "honest": 60, "byzantine": 40, "trimmed": 12, "excluded": 11, "rejected": 10,
        "scatter": 0.1234, "error_bound": 0.0567, "suspect": "alike",
    } | more  # fmt: skip


def metrics(quarantined=(), error=0.04, oracle=0.03, **more):
    scored = {"title": "estimation error", "better": "low", "value": error, "of": None}
    return {
        "clusters": [cluster()] * 12,
        "clustering": {"name": "trimmed_kmeans"},
        "client_loss": None,
        "misclustering": 0.0,
        "ari": 1.0,
        "scores": {"estimation_error": scored | {"per_round": [0.05, error]}},
        "oracle_scores": {"estimation_error": {"value": oracle, "per_round": [0.05, oracle]}},
        "oracle_without_byzantine": True,
        "oracle_suspect": False,
        "replies": {"rejected": {}},
        "participation": {"kept_model": {}, "tried_again": {}},
        "messages": 60,
        "bytes": {"down": 2400, "up": 1_920_000},
        "screening": {"quarantined": list(quarantined), "excluded": []},
    } | more


def printed(monkeypatch, content):
    out = io.StringIO()
    monkeypatch.setattr(table, "console", Console(file=out, width=80))
    table.print_summary(content)
    return out.getvalue()


def test_the_fullest_table_fits_a_terminal_of_80_columns(monkeypatch):
    lines = printed(monkeypatch, metrics()).splitlines()
    assert max(map(len, lines)) <= 80
    heading = next(line for line in lines if "size" in line)
    for word in (
        "honest",
        "Byzantine",
        "trimmed",
        "excluded",
        "rejected",
        "scatter",
        "below",
        "suspect",
    ):
        assert word in heading
    assert sum("0.1234" in line and "0.0567" in line and "yes" in line for line in lines) == 12


def test_a_stretched_cluster_is_marked_with_what_it_means(monkeypatch):
    rows = [cluster(suspect=None, stretched=True), cluster(suspect=None)]
    lines = printed(monkeypatch, metrics(clusters=rows)).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("0.1234" in line and "stretch" in line for line in lines) == 1
    assert "no bound holds" in " ".join(" ".join(lines).split())


def test_errors_that_are_not_known_have_diverged_and_other_scores_are_left_out(monkeypatch):
    unknown = {"better": "low", "value": None, "per_round": [None, None], "of": None}
    scores = {"served_error": {"title": "served error"}, "loss": {"title": "loss"}}
    content = metrics(scores={name: unknown | own for name, own in scores.items()})
    lines = printed(monkeypatch, content | {"oracle_scores": None}).splitlines()
    assert any("served error" in line and "diverged" in line for line in lines)
    assert not any("loss" in line for line in lines)


def test_many_clients_in_quarantine_are_counted_and_some_named(monkeypatch):
    assert "2 (4, 7)" in printed(monkeypatch, metrics([4, 7]))
    assert "30 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)" in printed(monkeypatch, metrics(range(30)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "oracle, without Byzantine clients 0.0300"),
        ({"oracle_without_byzantine": False}, "oracle, given the true clusters 0.0300"),
        ({"oracle": 7.0}, "no yardstick: its error grew from 0.0500 to 7.00"),
        ({"oracle": None}, "no yardstick: it diverged"),
        ({"oracle_suspect": True}, "no yardstick: it has a suspect cluster"),
        ({"error": None}, "estimation error diverged"),
    ],
)
def test_the_error_stands_beside_an_oracle_that_is_a_yardstick(monkeypatch, changes, words):
    assert words in " ".join(printed(monkeypatch, metrics(**changes)).split())


def test_clusters_that_kept_their_model_and_rounds_tried_again_are_named(monkeypatch):
    missed = {"kept_model": {"0": [3, 4], "2": [5]}, "tried_again": {"7": 2}}
    lines = [" ".join(line.split()) for line in printed(
        monkeypatch, metrics(participation=missed)
    ).splitlines()]  # fmt: skip
    assert "clusters that kept their model 2 (0, 2)" in lines
    assert "rounds tried again 1 (7)" in lines


def test_an_oracle_that_was_not_run_has_no_row(monkeypatch):
    assert "oracle" not in printed(monkeypatch, metrics(oracle_scores=None))


def test_messages_have_their_bytes(monkeypatch):
    assert "60 (2.40 kB down, 1.92 MB up)" in printed(monkeypatch, metrics())


def accuracy(**more):
    """The metrics of a neural task by an algorithm without stage II."""

    def score(title, better, value, of=None):
        return {"title": title, "better": better, "value": value, "per_round": [value], "of": of}

    scores = {
        "accuracy": score("accuracy", "high", 0.92),
        "loss": score("loss", "low", 0.3),
        "accuracy_worst_decile": score("worst tenth", "high", 0.81, of="accuracy"),
        "accuracy_worst_cluster": score("worst cluster", "high", 0.88, of="accuracy"),
    }
    oracle = {"accuracy": {"value": 0.93, "per_round": [0.93]}}
    content = {"scores": scores, "oracle_scores": oracle, "clustering": None}
    return metrics(**(content | more))


def test_a_task_without_an_error_has_its_own_scores_and_the_oracles_first_one(monkeypatch):
    text = " ".join(printed(monkeypatch, accuracy()).split())
    assert "accuracy 0.9200 oracle, without Byzantine clients 0.9300" in text
    assert "worst tenth of clients 0.8100" in text
    assert "worst true cluster 0.8800" in text
    assert "loss 0.3000" in text
    assert "estimation error" not in text
    assert "trimmed" not in text
    assert "scatter" not in text


def test_an_oracle_far_below_what_should_be_high_is_no_yardstick(monkeypatch):
    low = {"accuracy": {"value": 0.4, "per_round": [0.4]}}
    text = printed(monkeypatch, accuracy(oracle_scores=low))
    assert "no yardstick: its accuracy is 0.400" in text


def test_of_many_models_the_largest_20_have_a_row_and_one_for_all_is_no_misclustering(monkeypatch):
    many = [cluster(size=1 + (k == 30)) for k in range(31)]
    lines = printed(monkeypatch, accuracy(clusters=many)).splitlines()
    rows = [line.split("│")[1].strip() for line in lines if line.startswith("│")]
    assert rows == [*map(str, range(19)), "30"]
    assert any("the largest 20; 11 more" in line for line in lines)
    one = printed(monkeypatch, accuracy(clusters=[cluster()], misclustering=0.5))
    assert "misclustered" not in one
