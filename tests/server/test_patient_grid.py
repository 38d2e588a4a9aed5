"""Replies are collected by a short, growing wait; messages that get lost are sent again."""

import math
from types import SimpleNamespace

import httpx
import pytest
from flwr.app import Error, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.supercore.task_identity import TaskIdentity

from client.app import app as client_app
from launch.engines.inprocess_grid import InProcessGrid
from server import link, patient_grid
from server.federation import run_federation
from server.folder import read_metrics
from server.patient_grid import PatientGrid
from tagma.settings import compose, join_overrides
from tests.conftest import SMALL

NEVER = math.inf


@pytest.fixture
def clock(monkeypatch):
    """Time passes by sleeping only."""
    now = SimpleNamespace(seconds=1000.0, pauses=[])
    for module in (patient_grid, link):
        monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)

    def sleep(seconds):
        now.seconds += seconds
        now.pauses.append(seconds)

    now.sleep = sleep
    return now


class Nodes:
    """A grid whose nodes answer as told: after seconds, never, or by an error of Flower's.

    `answers` has one list for each node: what becomes of the first message to it, the second, ...
    """

    def __init__(self, clock, **answers):
        self.clock, self.answers = clock, answers
        self.sent, self.pushed, self.present = [], {}, [1, 2, 3]
        self.refuses_connections_until = -math.inf

    def push_messages(self, messages):
        self.connect()
        return [self._push(message) for message in messages]

    def _push(self, message):
        node = message.metadata.dst_node_id
        name = f"{node}.{sum(name.startswith(f'{node}.') for name in self.pushed) + 1}"
        message.metadata.__dict__["_message_id"] = name
        answers = self.answers[f"node{node}"]
        self.pushed[name] = message, self.clock.seconds, answers.pop(0) if answers else NEVER
        self.sent.append((name, round(self.clock.seconds - 1000)))
        return name

    def pull_messages(self, names):
        self.connect()
        found = [self._reply(name) for name in names]
        return [reply for reply in found if reply is not None]

    def _reply(self, name):
        message, sent, answer = self.pushed[name]
        if isinstance(answer, Error):
            return Message(answer, reply_to=message)
        if self.clock.seconds < sent + answer:
            return None
        return Message(RecordDict(), reply_to=message)

    def get_node_ids(self):
        self.connect()
        return self.present

    def connect(self):
        if self.clock.seconds < self.refuses_connections_until:
            raise httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING]")


def messages(*nodes, kind="train.gradient"):
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return [Message(RecordDict(), node, kind, group_id="2") for node in nodes]


def exchange(clock, grid, *nodes, timeout=None, patient=None, **kind):
    patient = patient or PatientGrid(grid, lossy=True, sleep=clock.sleep)
    replies = patient.send_and_receive(messages(*nodes, **kind), timeout=timeout)
    return [reply.metadata.reply_to_message_id for reply in replies]


def test_every_reply_is_taken_when_it_is_there(clock):
    grid = Nodes(clock, node1=[0.1], node2=[3])
    assert exchange(clock, grid, 1, 2) == ["1.1", "2.1"]
    assert 1003 <= clock.seconds <= 1003.25
    assert len(grid.sent) == 2


def test_waits_grow_from_a_twentieth_to_a_quarter_of_a_second(clock):
    exchange(clock, Nodes(clock, node1=[10]), 1)
    assert clock.pauses[0] == 0.05
    assert clock.pauses == sorted(clock.pauses)
    assert clock.pauses[-1] == 0.25


def test_the_round_is_over_when_its_time_is(clock):
    assert exchange(clock, Nodes(clock, node1=[1], node2=[]), 1, 2, timeout=2.0) == ["1.1"]
    assert 1002 <= clock.seconds <= 1002.25


@pytest.mark.parametrize("names", [[None], []])
def test_messages_that_were_not_accepted_are_not_waited_for(clock, names):
    refusing = SimpleNamespace(push_messages=lambda messages: names)
    assert exchange(clock, refusing, 1) == []
    assert clock.pauses == []


def test_a_lost_message_is_sent_again_and_its_answer_is_that_of_the_first(clock):
    grid = Nodes(clock, node1=[1], node2=[NEVER, 1])
    assert exchange(clock, grid, 1, 2) == ["1.1", "2.1"]
    assert grid.sent == [("1.1", 0), ("2.1", 0), ("2.2", 20)]


def test_the_first_answer_counts_and_the_second_is_no_answer(clock):
    grid = Nodes(clock, node1=[1], node2=[21, 1.1])
    assert exchange(clock, grid, 1, 2) == ["1.1", "2.1"]


def test_it_is_sent_ever_more_seldom(clock):
    grid = Nodes(clock, node1=[1], node2=[])
    exchange(clock, grid, 1, 2, timeout=200)
    assert grid.sent[2:] == [("2.2", 20), ("2.3", 60), ("2.4", 140)]


def test_a_slow_federation_is_asked_again_late(clock):
    """Three times the slowest of its kind, in this exchange or before."""
    grid = Nodes(clock, node1=[30, 1], node2=[NEVER, 1, NEVER, 1])
    patient = PatientGrid(grid, lossy=True, sleep=clock.sleep)
    exchange(clock, grid, 1, 2, patient=patient)
    assert grid.sent[2:] == [("2.2", 90)]
    started = clock.seconds - 1000
    exchange(clock, grid, 1, 2, patient=patient)
    ((name, sent),) = grid.sent[5:]
    assert name == "2.4"
    assert 89 <= sent - started <= 92


def test_nobody_knows_how_long_the_first_of_a_kind_takes(clock):
    """So nobody is asked twice before anybody has answered."""
    grid = Nodes(clock, node1=[1, 900], node2=[1, 1000])
    patient = PatientGrid(grid, lossy=True, sleep=clock.sleep)
    exchange(clock, grid, 1, 2, patient=patient, kind="train.gradient")
    exchange(clock, grid, 1, 2, patient=patient, kind="train.local")
    assert len(grid.sent) == 4


def test_unless_the_superlink_was_away(clock):
    grid = Nodes(clock, node1=[NEVER, 1], node2=[NEVER, 1])
    grid.refuses_connections_until = 1010
    patient = PatientGrid(grid, lossy=True, sleep=clock.sleep)
    assert exchange(clock, grid, 1, 2, patient=patient) == ["1.1", "2.1"]
    # Nothing could be pushed for 10 s; the last failure is a second before.
    assert grid.sent == [("1.1", 10), ("2.1", 10), ("1.2", 29), ("2.2", 29)]


LOST = Error(ErrorCode.MESSAGE_UNAVAILABLE, "gone")
AWAY = Error(ErrorCode.NODE_UNAVAILABLE, "away")
FAILED = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "out of memory")


def test_what_flower_calls_lost_is_sent_again_soon(clock):
    grid = Nodes(clock, node1=[LOST, LOST, 1])
    assert exchange(clock, grid, 1) == ["1.1"]
    assert grid.sent == [("1.1", 0), ("1.2", 5), ("1.3", 10)]


@pytest.mark.parametrize("error", [AWAY, FAILED])
def test_other_errors_are_answers(clock, error):
    grid = Nodes(clock, node1=[error])
    assert exchange(clock, grid, 1) == ["1.1"]
    assert len(grid.sent) == 1


def test_nodes_are_not_taken_for_dead_while_they_check_in_after_an_outage(clock):
    grid = Nodes(clock, node1=[*[AWAY] * 4, 1], node2=[AWAY] * 100)
    grid.refuses_connections_until = 1010
    patient = PatientGrid(grid, lossy=True, sleep=clock.sleep)
    (first, second) = patient.send_and_receive(messages(1, 2))
    assert first.metadata.reply_to_message_id == "1.1"
    assert not first.has_error()
    assert second.error.code == ErrorCode.NODE_UNAVAILABLE
    assert 1060 <= clock.seconds <= 1080


def test_a_grid_that_loses_nothing_is_never_asked_twice(clock):
    grid = Nodes(clock, node1=[1], node2=[NEVER, 1], node3=[LOST])
    patient = PatientGrid(grid, lossy=False, sleep=clock.sleep)
    assert exchange(clock, grid, 1, 2, 3, timeout=500, patient=patient) == ["3.1", "1.1"]
    assert len(grid.sent) == 3


def test_nodes_that_were_there_before_an_outage_are_waited_for(clock):
    grid = Nodes(clock)
    patient = PatientGrid(grid, lossy=True, sleep=clock.sleep)
    assert patient.get_node_ids() == {1, 2, 3}
    grid.present = [1, 2]
    assert patient.get_node_ids() == {1, 2}  # without an outage, who is away is away
    grid.present = []
    grid.refuses_connections_until = clock.seconds + 10
    assert patient.get_node_ids() == set()
    assert 1068 <= clock.seconds <= 1071
    assert patient.get_node_ids() == set()  # and nobody waits again


class Losing(InProcessGrid):
    """Every third reply is lost on its way to the server, and some messages to the client."""

    lost = 0

    def pull_messages(self, message_ids):
        replies = super().pull_messages(message_ids)
        kept = [r for r in replies if int(r.metadata.reply_to_message_id) % 3]
        self.lost += len(replies) - len(kept)
        return kept


@pytest.mark.parametrize("attack", ["stale", "alie", "gaussian_noise"])
def test_a_run_that_loses_messages_has_the_numbers_of_one_that_does_not(attack, clock, tmp_path):
    """Also where the clients that are asked twice remember what they sent."""
    settings = compose([*SMALL, f"attack={attack}", "oracle=false"])
    results = []
    for grid in (InProcessGrid, Losing):
        whole = grid(client_app, 20, join_overrides(settings.overrides))
        patient = PatientGrid(whole, lossy=True, sleep=clock.sleep)
        run_federation(patient, settings, tmp_path / grid.__name__, [])
        results.append(read_metrics(tmp_path / grid.__name__))
    assert whole.lost > 20
    for key in ("estimation_error_per_round", "clusters", "replies", "client_loss"):
        assert results[0][key] == results[1][key]
