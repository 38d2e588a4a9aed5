"""Progress on a terminal and elsewhere."""

import io

import pytest
from rich.console import Console

from tagma.launch import progress_bar
from tagma.launch.progress_bar import ProgressBar, duration
from tagma.server.results.events import RoundFinished


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_bar, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_that_of_what_was_done_since_the_first_call(clock, capsys):
    with ProgressBar("grid") as bar:
        bar.show(4, 10, "runs")
        clock[0] = 30.0
        bar.show(6, 10, "runs")
        clock[0] = 50.0
        bar.show(10, 10, "runs")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["grid: 6/10  runs, about 60 s left", "grid: 10/10  runs"]


def test_lines_come_now_and_then_only(clock, capsys):
    with ProgressBar("grid") as bar:
        for second in range(25):
            clock[0] = float(second)
            bar.show(second, 25, "runs")
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_round_says_its_work_and_its_first_score(clock, capsys):
    with ProgressBar("rounds") as bar:
        clock[0] = 11.0
        scores = {"accuracy": 0.5, "loss": 2.0}
        bar.round(RoundFinished(1, 21, "local_model", scores, 20, 0, 0, 0, 9, 9, 0.1))
        clock[0] = 22.0
        bar.round(RoundFinished(2, 21, "gradient", {"accuracy": None}, 20, 0, 0, 0, 9, 9, 0.1))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "rounds: 1/21  local models, accuracy 0.5000"
    assert second == "rounds: 2/21  gradients, about 3 min left"


def test_a_terminal_gets_a_bar(clock, monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(progress_bar, "notices", terminal)
    with ProgressBar("grid") as bar:
        bar.show(3, 7, "runs")
        bar._bar.refresh()
    shown = terminal.file.getvalue()
    assert "3/7" in shown
    assert "grid: 3/7" not in shown


@pytest.mark.parametrize(("seconds", "words"), [(99.4, "99 s"), (600, "10 min"), (9000, "2.5 h")])
def test_a_duration_is_as_exact_as_an_estimate(seconds, words):
    assert duration(seconds) == words
