import io

import pytest
from rich.console import Console

from tagma.launch import summary_table as table


def cluster(**more):
    return {
        "size": 100, "honest": 60, "byzantine": 40, "trimmed": 12, "excluded": 11, "rejected": 10,
        "scatter": 0.1234, "error_bound": 0.0567, "suspect": "alike",
    } | more  # fmt: skip


def metrics(quarantined=(), **more):
    return {
        "clusters": [cluster()] * 12,
        "client_loss": None,
        "misclustering": 0.0,
        "estimation_error": 0.04,
        "estimation_error_per_round": [0.05, 0.04],
        "oracle_error": 0.03,
        "oracle_error_per_round": [0.05, 0.03],
        "oracle_without_byzantine": True,
        "oracle_suspect": False,
        "replies": {"rejected": {}},
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


def test_many_clients_in_quarantine_are_counted_and_some_named(monkeypatch):
    assert "2 (4, 7)" in printed(monkeypatch, metrics([4, 7]))
    assert "30 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)" in printed(monkeypatch, metrics(range(30)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "oracle, without Byzantine clients 0.0300"),
        ({"oracle_without_byzantine": False}, "oracle, given the true clusters 0.0300"),
        ({"oracle_error": 7.0}, "no yardstick: its error grew from 0.0500 to 7.00"),
        ({"oracle_error": None}, "no yardstick: it diverged"),
        ({"oracle_suspect": True}, "no yardstick: it has a suspect cluster"),
        ({"estimation_error": None}, "estimation error diverged"),
    ],
)
def test_the_error_stands_beside_an_oracle_that_is_a_yardstick(monkeypatch, changes, words):
    assert words in " ".join(printed(monkeypatch, metrics(**changes)).split())


def test_an_oracle_that_was_not_run_has_no_row(monkeypatch):
    assert "oracle" not in printed(monkeypatch, metrics(oracle_error_per_round=None))
