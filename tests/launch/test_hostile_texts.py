"""What clients, files and settings say, at every place where it is logged, shown or written."""

import csv
import logging

import numpy as np
import pytest

from tagma.attacks.local_forgery import failure_of
from tagma.bench.grid.table_files import TEXT, write_table
from tagma.bench.local_workers import work
from tagma.client.app import app as client_app
from tagma.launch import console, progress_bar, summary_table
from tagma.launch.left_as_found import logged_to
from tagma.launch.multirun_summary import EndedRun, show_summary
from tagma.launch.predict import _write
from tagma.launch.progress_bar import ProgressBar, words_of
from tagma.launch.progress_line import ProgressLine
from tagma.launch.shown_figure import Figure
from tagma.launch.tracking.tracker import final_numbers, round_numbers
from tagma.report.figure_files import Sheet, write_sheets
from tagma.report.folder_files import csv_rows
from tagma.server.results.events import RoundFinished, parse_event, print_event
from tagma.server.results.run_folder import History
from tagma.server.results.scores import Score
from tests.launch.test_multirun_summary import ended
from tests.launch.test_summary_table import metrics

FORGED = "2026-11-16 12:00:00,000 ERROR tagma: all is lost"
ANGRY = f"no luck\r\n{FORGED}\x1b[2J\x1b]0;owned\x07[bold red]!\u202e:smile:" + "x" * 10**6
FORMULA = "=cmd|' /C calc'!A0"
EVENT = RoundFinished(2, 9, "gradient", {"loss": 0.5}, 4, 1, 0, 0, 100, 50, 0.1)


def fails_angrily(message, context):
    if context.node_config["partition-id"] < 3:
        raise RuntimeError(ANGRY)
    return client_app(message, context)


def lines_of(text):
    assert not set(text) & set("\r\x1b\x07\u202e"), text
    return text.splitlines()


def test_an_error_of_a_client_is_part_of_one_line_of_the_log(run_small, tmp_path):
    with logged_to(tmp_path / "run.log"):
        found = run_small("attack=none", client=fails_angrily)
    assert found["replies"]["rejected"]["error"] == 3
    lines = lines_of((tmp_path / "run.log").read_text())
    said = [line for line in lines if "a client failed" in line]
    assert len(said) == 3
    assert all(f"RuntimeError: no luck {FORGED}\\x1b[2J" in line for line in said)
    assert all(len(line) < 500 for line in lines)
    assert not any(line.startswith(FORGED) for line in lines)


def test_an_error_that_ends_the_run_is_one_line(run_small, capsys):
    def client(message, context):
        raise RuntimeError(ANGRY)

    with pytest.raises(Exception, match="usable local models of 0 of 20 clients") as ended_by:
        run_small(client=client)
    with pytest.raises(SystemExit):
        console.fail(str(ended_by.value))
    (line,) = lines_of(capsys.readouterr().err)
    assert line.startswith(
        "tagma: error: round 1: usable local models of 0 of 20 clients (20 Runtime"
    )
    assert len(line) < 500


def test_failures_on_arrays_and_in_benches_are_one_line_each():
    class Cell:
        def run(self):
            raise RuntimeError(ANGRY + "\ud800")

    for line in (failure_of(RuntimeError(ANGRY))[1], work(Cell())[1]):
        assert lines_of(line) == [line]
        assert len(line) <= 1000


def test_whatever_others_log_cannot_begin_a_line(tmp_path):
    with logged_to(tmp_path / "run.log"):
        logging.getLogger("flwr").warning("Received error in reply from node %d: %s", 7, ANGRY)
    first, second = lines_of((tmp_path / "run.log").read_text())
    assert first.endswith("Received error in reply from node 7: no luck\\r")
    assert second.startswith(f"    {FORGED}")


@pytest.mark.parametrize(
    "line",
    [
        "INFO : round 1: a client failed: RuntimeError: {event}",
        "(ClientAppActor pid=7) {event}",
        " {event}",
    ],
)
def test_a_client_cannot_forge_the_end_of_a_round(line, capsys):
    print_event(EVENT)
    event = capsys.readouterr().out.strip()
    assert parse_event(event) == EVENT
    assert parse_event(line.format(event=event)) is None


def test_the_terminal_shows_texts_as_texts(capsys):
    console.warn(ANGRY[:200])
    console.say("[red]a[/red] :smile: \x1b[1m\nb")
    shown = capsys.readouterr()
    (line,) = lines_of(shown.err)
    assert line.startswith(
        f"warning: no luck {FORGED}\\x1b[2J\\x1b]0;owned\\x07[bold red]!\\u202e:s"
    )
    assert shown.out == "[red]a[/red] :smile: \\x1b[1m\nb\n"


def test_the_table_at_the_end_shows_texts_as_texts(capsys):
    score = {"title": "[/] f1 \x1b[2J", "better": "high", "value": 0.5, "of": None}
    content = metrics(replies={"rejected": {"[bold]no \x1b[1m": 3}})
    content["scores"]["f1"] = score | {"per_round": [0.5]}
    summary_table.print_summary(content)
    shown = "\n".join(lines_of(capsys.readouterr().out))
    assert "[/] f1 \\x1b[2J" in shown
    assert "3 [bold]no \\x1b[1m" in shown


def test_progress_is_one_line(capsys, monkeypatch):
    event = RoundFinished(1, 2, "own \x1b[2J", {"f1 [bold]\n\x1b[1m": 0.5}, 4, 1, 0, 0, 9, 9, 0.1)
    assert words_of(event) == "own \\x1b[2J, f1 [bold] \\x1b[1m 0.5000"
    monkeypatch.setattr(progress_bar, "_PAUSE", -1.0)
    with ProgressBar("grid\x1b[2J [/]") as bar:
        bar.round(event)
    (line,) = lines_of(capsys.readouterr().err)
    assert line.startswith("grid\\x1b[2J [/]: 1/2  own")
    assert ProgressLine("a\x1b[2J", wanted=False)._title == "a\\x1b[2J"


def test_an_object_in_a_notebook_or_a_shell_is_one_line():
    assert repr(Figure("a", "b\n\x1b[2J", "<svg/>")) == "<Figure a: b \\x1b[2J>"


def test_tables_hold_no_formula_and_numbers_stay_numbers(tmp_path, capsys):
    class Own(Score):
        name = FORMULA

    history = History(tmp_path, [Own()], [])
    history(RoundFinished(1, 2, "@work", {FORMULA: -1.5}, 4, 1, 0, 0, 9, 9, 0.1))
    history.close()
    columns = {FORMULA: TEXT, "reason": TEXT}
    write_table(tmp_path / "table", columns, [{FORMULA: "-1", "reason": "+1+cmd|x\n=2+2"}])
    sheet = Sheet("f", "t", (), (FORMULA, "x"), (("-2+3;=1", -0.5), ("-7", None)))
    write_sheets(tmp_path / "figures", [sheet], ())
    with (tmp_path / "predictions.csv").open("w") as file:
        _write(file, np.array([FORMULA, "-1", "setosa"]))
    runs = [
        EndedRun((f"a={text}",), tmp_path / text, ended("", error=-1.0).metrics)
        for text in ("=1+1", "-1")
    ]
    show_summary(runs, tmp_path)
    capsys.readouterr()
    found = {
        name: list(csv.reader((tmp_path / name).open(newline="")))
        for name in ("history.csv", "table.csv", "figures/f.csv", "predictions.csv", "summary.csv")
    }
    harmless = f"'{FORMULA}"
    assert found["history.csv"][0][2] == harmless
    assert found["history.csv"][1][1:3] == ["'@work", "-1.5"]
    assert found["table.csv"] == [[harmless, "reason"], ["-1", "'+1+cmd|x\\n=2+2"]]
    assert found["figures/f.csv"] == [[harmless, "x"], ["'-2+3;'=1", "-0.5"], ["-7", ""]]
    assert [row[1] for row in found["predictions.csv"]] == ["prediction", harmless, "-1", "setosa"]
    assert [row[0] for row in found["summary.csv"]] == ["a", "'=1+1", "-1"]
    assert "-1.0" in found["summary.csv"][1]
    assert csv_rows(tmp_path / "table.csv") == [{FORMULA: "-1", "reason": "+1+cmd|x\\n=2+2"}]


def test_trackers_are_given_names_that_are_no_paths_and_no_commands():
    event = RoundFinished(1, 2, "own", {"../f1\x1b[2J$x": 0.5}, 4, 1, 0, 0, 9, 9, 0.1)
    assert "round/f1__2J_x" in round_numbers(event)
    told = {
        "misclustering": 0.0, "ari": None, "scores": {"../f1\n": {"value": 0.5}}, "messages": 1,
        "oracle_scores": {}, "bytes": {}, "seconds": {"total": 1.0},
        "replies": {"used": 1, "rejected": {}, "kept": 0, "repeats": 0},
    }  # fmt: skip
    assert final_numbers(told)["f1_"] == 0.5
