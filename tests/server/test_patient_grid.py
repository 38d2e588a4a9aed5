"""Replies are collected by a short, growing wait, until all are in or the time is over."""

from types import SimpleNamespace

import pytest

from server import patient_grid
from server.patient_grid import PatientGrid


def reply(name):
    return SimpleNamespace(metadata=SimpleNamespace(reply_to_message_id=name))


class Slow:
    """A grid on which the reply to message n is there after n looks."""

    def __init__(self):
        self.looks = 0
        self.waited_for = []

    def push_messages(self, messages):
        return list(messages)

    def pull_messages(self, names):
        self.looks += 1
        self.waited_for.append(sorted(names))
        return [reply(name) for name in sorted(names) if name <= self.looks]


@pytest.fixture
def clock(monkeypatch):
    """Time passes by sleeping only."""
    now = SimpleNamespace(seconds=0.0, pauses=[])
    monkeypatch.setattr(patient_grid.time, "monotonic", lambda: now.seconds)

    def sleep(seconds):
        now.seconds += seconds
        now.pauses.append(seconds)

    now.sleep = sleep
    return now


def test_every_reply_is_taken_when_it_is_there_and_asked_for_no_longer(clock):
    grid = Slow()
    replies = PatientGrid(grid, clock.sleep).send_and_receive([1, 3])
    assert [r.metadata.reply_to_message_id for r in replies] == [1, 3]
    assert grid.waited_for == [[1, 3], [3], [3]]


def test_waits_grow_from_a_twentieth_to_a_quarter_of_a_second(clock):
    PatientGrid(Slow(), clock.sleep).send_and_receive([40])
    assert clock.pauses[0] == 0.05
    assert clock.pauses == sorted(clock.pauses)
    assert clock.pauses[-1] == 0.25
    assert clock.seconds < 40 * 0.25


def test_the_round_is_over_when_its_time_is(clock):
    replies = PatientGrid(Slow(), clock.sleep).send_and_receive([1, 1000], timeout=2.0)
    assert len(replies) == 1
    assert 2.0 <= clock.seconds <= 2.25


def test_messages_that_were_not_accepted_are_not_waited_for(clock):
    assert PatientGrid(Slow(), clock.sleep).send_and_receive([None]) == []
    assert clock.pauses == []
