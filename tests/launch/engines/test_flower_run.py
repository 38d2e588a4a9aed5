"""What the launcher makes of the log of a run on a SuperLink."""

from pathlib import Path

import pytest

from tagma.launch.engines.flower_run import on_events, placed
from tagma.server.results.events import RoundFinished, print_event
from tagma.settings import compose
from tests.conftest import SMALL


def test_a_log_that_begins_again_after_an_outage_tells_nothing_twice(capsys):
    rounds = [
        RoundFinished(n, 4, "gradient", {"loss": 0.5}, 6, 0, 0, 0, 9, 9, 1.0) for n in (1, 2, 3)
    ]
    for event in rounds:
        print_event(event)
    first, second, third = capsys.readouterr().out.splitlines()
    told = []
    pass_on = on_events(told.append)
    for line in (first, "INFO : something else", second, first, second, third):
        pass_on(line)
    assert told == rounds


@pytest.mark.parametrize("folder", [Path("out"), Path("deep/../out"), "whole"])
def test_a_server_with_another_working_folder_finds_the_results(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = tmp_path / "out" if folder == "whole" else folder
    assert compose([*SMALL, *placed(compose(SMALL), given)]).output == str(tmp_path / "out")


def test_a_folder_on_the_servers_computer_is_left_as_it_is():
    assert compose([*SMALL, *placed(compose(SMALL), "results/mine")]).output == "results/mine"
