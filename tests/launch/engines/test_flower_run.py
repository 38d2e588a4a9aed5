"""What the launcher makes of the log of a run on a SuperLink."""

from tagma.launch.engines.flower_run import on_events
from tagma.server.results.events import RoundFinished, print_event


def test_a_log_that_begins_again_after_an_outage_tells_nothing_twice(capsys):
    rounds = [RoundFinished(n, 4, "gradient", {"loss": 0.5}, 6, 0, 9, 9, 1.0) for n in (1, 2, 3)]
    for event in rounds:
        print_event(event)
    first, second, third = capsys.readouterr().out.splitlines()
    told = []
    pass_on = on_events(told.append)
    for line in (first, "INFO : something else", second, first, second, third):
        pass_on(line)
    assert told == rounds
