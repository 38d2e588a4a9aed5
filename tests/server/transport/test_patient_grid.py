"""Replies are collected by a short, growing wait; messages that get lost are sent again."""

import math
from types import SimpleNamespace

import httpx
import pytest
from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.common.constant import ErrorCode

from tagma.client.app import app as client_app
from tagma.flower_private import be_server
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
from tagma.server.transport import patient_grid, superlink_calls
from tagma.server.transport.patient_grid import PatientGrid
from tagma.settings import compose, join_overrides
from tagma.wire import CONFIG, ROUND, WORK, round_of, work_of
from tests.conftest import SMALL

NEVER = math.inf


@pytest.fixture
def clock(monkeypatch):
    """Time passes by sleeping only."""
    now = SimpleNamespace(seconds=1000.0, pauses=[])
    for module in (patient_grid, superlink_calls):
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
        self.outage = (0.0, 0.0)

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
        return Message(RecordDict({"of": ConfigRecord({"name": name})}), reply_to=message)

    def get_node_ids(self):
        self.connect()
        return self.present

    def away(self, start, stop):
        self.outage = (start, stop)

    def connect(self):
        start, stop = self.outage
        if start <= self.clock.seconds < stop:
            raise httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING]")


def messages(*nodes, work="gradient"):
    be_server(1)
    config = ConfigRecord({ROUND: 2, WORK: work})
    return [Message(RecordDict({CONFIG: config}), node, "train") for node in nodes]


def patient_of(clock, grid):
    return PatientGrid(grid, lossy=True, sleep=clock.sleep)


def exchange(clock, grid, *nodes, timeout=None, patient=None, **work):
    patient = patient or patient_of(clock, grid)
    replies = patient.send_and_receive(messages(*nodes, **work), timeout=timeout)
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


def test_the_first_answer_counts(clock):
    grid = Nodes(clock, node1=[1], node2=[21, 0.5])
    patient = patient_of(clock, grid)
    replies = patient.send_and_receive(messages(1, 2))
    assert [reply.content["of"]["name"] for reply in replies] == ["1.1", "2.2"]
    grid = Nodes(clock, node1=[1], node2=[21, 5])
    replies = patient_of(clock, grid).send_and_receive(messages(1, 2))
    assert [reply.content["of"]["name"] for reply in replies] == ["1.1", "2.1"]


def test_it_is_sent_again_once(clock):
    grid = Nodes(clock, node1=[1], node2=[])
    exchange(clock, grid, 1, 2, timeout=2000)
    assert grid.sent[2:] == [("2.2", 20)]


def test_and_once_more_after_every_outage(clock):
    grid = Nodes(clock, node1=[1], node2=[])
    grid.away(1030, 1040)
    exchange(clock, grid, 1, 2, timeout=2000)
    assert [name for name, _ in grid.sent[2:]] == ["2.2", "2.3"]
    assert 59 <= grid.sent[3][1] <= 61


def test_nobody_begins_with_a_copy_when_the_round_is_over(clock):
    grid = Nodes(clock, node1=[1], node2=[])
    exchange(clock, grid, 1, 2, timeout=100)
    copy, sent, _ = grid.pushed["2.2"]
    assert sent + copy.metadata.ttl == pytest.approx(1100)


def test_there_is_no_copy_that_could_not_be_answered_in_time(clock):
    grid = Nodes(clock, node1=[30, 30], node2=[30, NEVER])
    patient = patient_of(clock, grid)
    exchange(clock, grid, 1, 2, patient=patient)
    exchange(clock, grid, 1, 2, patient=patient, timeout=110)
    assert len(grid.sent) == 4


def test_a_slow_node_is_asked_again_late(clock):
    """Three times what it took itself; whoever is new, what the others take."""
    grid = Nodes(clock, node1=[1, 1], node2=[100, NEVER, 1], node3=[1, 1])
    patient = patient_of(clock, grid)
    exchange(clock, grid, 1, 2, 3, patient=patient)
    assert grid.sent[3:] == [("2.2", 20)]
    began = round(clock.seconds - 1000)
    grid.answers["node2"] = [NEVER, 1]
    exchange(clock, grid, 1, 2, 3, patient=patient)
    ((name, sent),) = grid.sent[7:]
    assert name == "2.4"
    assert 299 <= sent - began <= 303


def test_nobody_knows_how_long_the_first_of_a_kind_takes(clock):
    """So nobody is asked twice before anybody has answered."""
    grid = Nodes(clock, node1=[1, 900], node2=[1, 1000])
    patient = patient_of(clock, grid)
    exchange(clock, grid, 1, 2, patient=patient, work="gradient")
    exchange(clock, grid, 1, 2, patient=patient, work="local")
    assert len(grid.sent) == 4


def test_unless_the_superlink_was_away(clock):
    grid = Nodes(clock, node1=[NEVER, 1], node2=[NEVER, 1])
    grid.away(1000, 1010)
    patient = patient_of(clock, grid)
    assert exchange(clock, grid, 1, 2, patient=patient) == ["1.1", "2.1"]
    # Nothing could be pushed for 10 s; the last failure is a second before.
    assert grid.sent == [("1.1", 10), ("2.1", 10), ("1.2", 29), ("2.2", 29)]


LOST = Error(ErrorCode.MESSAGE_UNAVAILABLE, "gone")
AWAY = Error(ErrorCode.NODE_UNAVAILABLE, "away")
FAILED = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "out of memory")


def test_what_flower_calls_lost_is_sent_again_soon(clock):
    grid = Nodes(clock, node1=[LOST, 1])
    assert exchange(clock, grid, 1) == ["1.1"]
    assert grid.sent == [("1.1", 0), ("1.2", 5)]


def test_a_node_that_always_calls_it_lost_is_believed(clock):
    grid = Nodes(clock, node1=[LOST] * 100)
    (reply,) = patient_of(clock, grid).send_and_receive(messages(1))
    assert reply.error.code == ErrorCode.MESSAGE_UNAVAILABLE
    assert len(grid.sent) == 2


@pytest.mark.parametrize("error", [AWAY, FAILED])
def test_other_errors_are_answers(clock, error):
    grid = Nodes(clock, node1=[error])
    assert exchange(clock, grid, 1) == ["1.1"]
    assert len(grid.sent) == 1


def test_nodes_are_not_taken_for_dead_while_they_check_in_after_an_outage(clock):
    grid = Nodes(clock, node1=[*[AWAY] * 4, 1], node2=[AWAY] * 100)
    grid.away(1000, 1010)
    patient = patient_of(clock, grid)
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
    patient = patient_of(clock, grid)
    assert patient.get_node_ids() == {1, 2, 3}
    grid.present = [1, 2]
    assert patient.get_node_ids() == {1, 2}  # without an outage, who is away is away
    grid.present = []
    grid.away(clock.seconds, clock.seconds + 10)
    assert patient.get_node_ids() == set()
    assert 1068 <= clock.seconds <= 1071
    assert patient.get_node_ids() == set()  # and nobody waits again


class Losing(InProcessGrid):
    """Some replies are lost on their way to the server; never two of the same node in a round."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.lost, self.asked = set(), None

    def push_messages(self, messages):
        self.asked = round_of(messages[0]), work_of(messages[0])
        return super().push_messages(messages)

    def pull_messages(self, message_ids):
        kept = []
        for reply in super().pull_messages(message_ids):
            place = (*self.asked, reply.metadata.src_node_id)
            if place[2] % 3 == 0 and place not in self.lost:
                self.lost.add(place)
            else:
                kept.append(reply)
        return kept


class Poisoned(InProcessGrid):
    """A SuperLink that a node has brought to answer 500 to whatever is for node 3."""

    def push_messages(self, messages):
        if any(message.metadata.dst_node_id == 3 for message in messages):
            response = httpx.Response(500, request=httpx.Request("POST", "https://superlink/"))
            raise httpx.HTTPStatusError("", request=response.request, response=response)
        return super().push_messages(messages)


def test_a_message_that_cannot_be_stored_stops_neither_the_others_nor_the_run(clock, tmp_path):
    settings = compose([*SMALL, "oracle=false"])
    grid = Poisoned(client_app, 20, join_overrides(settings.overrides))
    run_federation(patient_of(clock, grid), settings, tmp_path, [])
    found = read_metrics(tmp_path)
    assert found["participation"]["took_no_part"] == [1]
    assert sum(cluster["size"] for cluster in found["clusters"]) == 19


def test_a_superlink_that_is_away_when_the_round_is_over_does_not_end_the_run(clock):
    grid = Nodes(clock, node1=[1, 1], node2=[NEVER, 1])
    grid.away(1005, 1030)
    patient = patient_of(clock, grid)
    assert exchange(clock, grid, 1, 2, patient=patient, timeout=10) == ["1.1"]
    assert exchange(clock, grid, 1, 2, patient=patient) == ["1.2", "2.2"]


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
    assert len(whole.lost) > 20
    for key in ("estimation_error_per_round", "clusters", "replies", "client_loss"):
        assert results[0][key] == results[1][key]
