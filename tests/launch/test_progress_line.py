"""Progress for whoever works in Python: a line on a terminal or in a notebook, else nothing."""

import io
import sys

from tagma.launch import progress_line
from tagma.launch.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(screen):
    """What a terminal shows of a text with carriage returns."""
    line = ""
    for part in screen.getvalue().split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


def terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress_line, "_PAUSE", 0.0)
    return sys.stderr


def test_one_line_is_rewritten_and_taken_away(monkeypatch):
    screen = terminal(monkeypatch)
    with ProgressLine("rounds", wanted=True) as line:
        line.show(1, 10, "gradients, error 0.123")
        assert shown(screen) == "rounds: 1/10  gradients, error 0.123"
        line.show(10, 10, "done")
        assert shown(screen) == "rounds: 10/10  done"
    assert shown(screen) == ""
    assert "\n" not in screen.getvalue()


def test_nothing_is_written_where_it_is_not_wanted(monkeypatch):
    screen = terminal(monkeypatch)
    with ProgressLine("rounds", wanted=False) as line:
        line.show(1, 10, "gradients")
    assert screen.getvalue() == ""


def test_nothing_is_written_to_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with ProgressLine("rounds", wanted=True) as line:
        line.show(1, 10, "gradients")
    assert sys.stderr.getvalue() == sys.stdout.getvalue() == ""


def test_a_notebook_has_it_among_its_output(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(progress_line, "in_notebook", lambda: True)
    with ProgressLine("rounds", wanted=True) as line:
        line.show(1, 10, "gradients")
        assert shown(sys.stdout) == "rounds: 1/10  gradients"
