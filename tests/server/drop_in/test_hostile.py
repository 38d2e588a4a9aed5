"""Hostile clients of an ordinary app: whatever a few of them send, the others are served."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict

from tagma import Clustered, Robust
from tagma.flower_private import answer_from, answer_to
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tests.server.drop_in.ordinary_app import TRUE, grid_of, initial, ordinary_app, weight_of

CLIENTS, HOSTILE, FIRST = 16, 3, 2
GOOD = {"weight": np.ones((2, 3), np.float32), "seen": np.ones(1, np.int64)}
Spoil = Callable[[Message, list[Message]], list[Message]]
"""From a hostile client's honest reply, and those of everybody, to the replies that it sends."""


class HostileGrid(InProcessGrid):
    """The first nodes send something else instead of their replies, and do so before all others."""

    def __init__(self, spoil: Spoil, kinds: tuple[str, ...] = ("train", "evaluate")) -> None:
        super().__init__(ordinary_app(), CLIENTS)
        self.spoil, self.kinds = spoil, kinds

    def send_and_receive(self, messages, *, timeout=None):
        replies = super().send_and_receive(messages, timeout=timeout)
        if not replies or replies[0].metadata.message_type not in self.kinds:
            return replies
        hostile = [r for r in replies if r.metadata.src_node_id < FIRST + HOSTILE]
        honest = [r for r in replies if r not in hostile]
        return [new for reply in hostile for new in self.spoil(reply, honest)] + honest


def with_content(make: Callable[[RecordDict], RecordDict]) -> Spoil:
    def spoil(reply: Message, others: list[Message]) -> list[Message]:
        reply.content = make(reply.content)
        return [reply]

    return spoil


def arrays(**named: np.ndarray) -> Spoil:
    record = {"arrays": ArrayRecord({name: Array(array) for name, array in named.items()})}
    return with_content(lambda old: RecordDict({**record, "metrics": old["metrics"]}))


def forged(**changes: object) -> Spoil:
    """An array that says something else of itself than is true."""

    def make(old: RecordDict) -> RecordDict:
        array = Array(GOOD["weight"])
        array.__dict__.update(changes)
        record = ArrayRecord({"weight": array, "seen": Array(GOOD["seen"])})
        return RecordDict({"arrays": record, "metrics": old["metrics"]})

    return with_content(make)


def metrics(**told: object) -> Spoil:
    def make(old: RecordDict) -> RecordDict:
        record = MetricRecord()
        kept = old["metrics"].items()
        record.__dict__["_data"] = {  # also what MetricRecord itself would refuse
            name: told.get(name, value) for name, value in kept
        }
        return RecordDict({**old, "metrics": record})

    return with_content(make)


def in_the_name_of(victim: int) -> Spoil:
    def spoil(reply: Message, others: list[Message]) -> list[Message]:
        answer_from(reply, victim)
        reply.content = RecordDict({"metrics": MetricRecord({"num-examples": 2**40})})
        return [reply]

    return spoil


def answers_nothing(reply: Message, others: list[Message]) -> list[Message]:
    answer_to(reply, "no such message")
    return [reply]


def failing(reply: Message, others: list[Message]) -> list[Message]:
    return [error_like(reply)]


def own_copy_of(reply: Message) -> Message:
    copy = Message.__new__(Message)
    copy.__dict__.update(reply.__dict__)
    return copy


def error_like(reply: Message) -> Message:
    failed = own_copy_of(reply)
    failed.__dict__.update(_content=None, _error=Error(0, "no\nsuch luck" * 999))
    return failed


WEIGHT, SEEN = GOOD["weight"], GOOD["seen"]
DROPPED = {
    "nan": arrays(weight=WEIGHT * np.nan, seen=SEEN),
    "infinite": arrays(weight=WEIGHT * np.inf, seen=SEEN),
    "huge": arrays(weight=WEIGHT * np.float32(1e30), seen=SEEN),
    "wrong keys": arrays(mass=WEIGHT, seen=SEEN),
    "a key less": arrays(weight=WEIGHT),
    "a key more": arrays(weight=WEIGHT, seen=SEEN, more=WEIGHT),
    "wrong shape": arrays(weight=WEIGHT.ravel(), seen=SEEN),
    "wrong dtype": arrays(weight=WEIGHT.astype(np.float64), seen=SEEN),
    "a float for a count": arrays(weight=WEIGHT, seen=SEEN.astype(np.float64)),
    "no bytes": forged(data=b""),
    "bytes of a pickle": forged(data=b"\x80\x04N."),
    "a shape that is huge": forged(shape=(10**9, 10**9)),
    "a kind that is none": forged(stype="pickle"),
    "an empty record": with_content(lambda old: RecordDict({**old, "arrays": ArrayRecord()})),
    "an empty content": with_content(lambda old: RecordDict()),
    "two models": with_content(lambda old: RecordDict({**old, "more": old["arrays"]})),
    "no model": with_content(lambda old: RecordDict({"metrics": old["metrics"]})),
    "no metrics": with_content(lambda old: RecordDict({"arrays": old["arrays"]})),
    "two records of metrics": with_content(lambda old: RecordDict({**old, "m": old["metrics"]})),
    "huge weight": metrics(**{"num-examples": 2**53 + 2}),
    "endless weight": metrics(**{"num-examples": float("inf")}),
    "negative weight": metrics(**{"num-examples": -5}),
    "weight that is no number": metrics(**{"num-examples": float("nan")}),
    "weight that is text": metrics(**{"num-examples": "many"}),
    "weights": metrics(**{"num-examples": [1, 2]}),
    "errors": failing,
    "replies to nothing": answers_nothing,
    "replies in the name of a victim": in_the_name_of(FIRST + HOSTILE),
    "silence": lambda reply, others: [],
}
HARMLESS = {
    "each reply twice": lambda reply, others: [reply, reply],
    "another reply as well": lambda reply, others: [
        reply, *DROPPED["wrong shape"](own_copy_of(reply), [])
    ],
    "others' replies as well": lambda reply, others: [reply, *others],
    "more records": with_content(
        lambda old: RecordDict({**old, "hints": ConfigRecord({"be": "evil"})})
    ),
}  # fmt: skip


def mean() -> Robust:
    return Robust("mean")


@cache
def under_silence(make):
    return make().start(HostileGrid(DROPPED["silence"], ("train",)), initial(), num_rounds=2)


@pytest.mark.parametrize("what", DROPPED)
@pytest.mark.parametrize("make", [mean, Clustered])
def test_what_is_unusable_is_dropped_as_if_nobody_had_sent_it(make, what, caplog):
    expected = under_silence(make)
    caplog.clear()
    found = make().start(HostileGrid(DROPPED[what], ("train",)), initial(), num_rounds=2)
    assert weight_of(found.arrays) == pytest.approx(weight_of(expected.arrays), abs=1e-6)
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.2
    assert found.train_metrics_clientapp == expected.train_metrics_clientapp
    dropped = [line for line in caplog.messages if line.startswith("round 1: replies dropped")]
    assert len(dropped) == 1
    assert all(len(message) < 400 and "\n" not in message for message in caplog.messages)


@pytest.mark.parametrize("what", HARMLESS)
@pytest.mark.parametrize("make", [Robust, Clustered])
def test_what_comes_beside_a_usable_reply_changes_nothing(make, what):
    found = make().start(HostileGrid(HARMLESS[what]), initial(), num_rounds=2)
    expected = make().start(grid_of(CLIENTS), initial(), num_rounds=2)
    assert found == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e300, 10**400, "text", [1.0, 2.0]])
def test_no_metric_of_one_client_spoils_those_of_all(value):
    spoil = metrics(loss=value, eval_loss=value)
    found = Robust().start(HostileGrid(spoil), initial(), num_rounds=2)
    for told in (found.train_metrics_clientapp, found.evaluate_metrics_clientapp):
        (number,) = told[2].values()
        assert 0 < number < 1
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.2


@pytest.mark.parametrize("name", ["lo\nss", "\x1b[2J", "x" * 10**5])
def test_metrics_by_names_that_no_log_could_show_are_left_out(name, caplog):
    def spoiled(client, number, model, metrics):
        return model, {"num-examples": metrics["num-examples"], name: 0.5}

    everybody = InProcessGrid(ordinary_app(change=spoiled), CLIENTS)
    found = Robust(fraction_evaluate=0.0).start(everybody, initial(), num_rounds=1)
    assert found.train_metrics_clientapp[1] == MetricRecord()
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.5
    assert all(len(message) < 400 for message in caplog.messages)


def test_a_victim_of_a_name_that_is_abused_keeps_its_place():
    found = Clustered().start(
        HostileGrid(in_the_name_of(FIRST + HOSTILE), ("train",)), initial(), num_rounds=3
    )
    assert FIRST + HOSTILE in found.clusters
    assert not set(found.clusters) & {FIRST, FIRST + 1, FIRST + 2}


class LateHostileGrid(HostileGrid):
    """The hostile nodes come in round 3."""

    rounds = 0

    def get_node_ids(self):
        return [n for n in super().get_node_ids() if self.rounds > 1 or n >= FIRST + HOSTILE]

    def send_and_receive(self, messages, *, timeout=None):
        sent = list(messages)
        self.rounds += bool(sent) and sent[0].metadata.message_type == "evaluate"
        return super().send_and_receive(sent, timeout=timeout)


@pytest.mark.parametrize(
    ("what", "joins"),
    [("nan", 0), ("wrong keys", 0), ("silence", 0), ("replies in the name of a victim", 0),
     ("each reply twice", HOSTILE), ("others' replies as well", HOSTILE)],
)  # fmt: skip
def test_hostile_clients_that_come_late(what, joins):
    grid = LateHostileGrid((DROPPED | HARMLESS)[what], ("train",))
    found = Clustered().start(grid, initial(), num_rounds=4)
    assert len(found.clusters) == CLIENTS - HOSTILE + joins
    assert set(range(FIRST + HOSTILE, FIRST + CLIENTS)) <= found.clusters.keys()
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.2


KILLED = """
import os, signal, sys
from tagma import Clustered
from tests.server.drop_in.ordinary_app import grid_of, initial

folder, dies = sys.argv[1:]

def change(client, number, model, metrics):
    if dies == "dies" and number == 4 and client == 11:
        os.kill(os.getpid(), signal.SIGKILL)  # in the middle of a round
    return model, metrics

found = Clustered(checkpoint=folder).start(
    grid_of(20, groups=2, steps=5, change=change), initial(), num_rounds=6
)
print(found.arrays["weight"].numpy().tolist(), sorted(found.clusters.items()))
"""


@pytest.mark.multiprocess
def test_a_server_that_was_killed_goes_on_to_the_same_result(tmp_path):
    def run(folder, dies):
        command = [sys.executable, "-c", KILLED, str(folder), dies]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    whole = run(tmp_path / "whole", "lives")
    assert run(tmp_path / "broken", "dies").returncode == -signal.SIGKILL
    assert (tmp_path / "broken/checkpoint.safetensors").is_file()
    half = f".checkpoint.safetensors.{'0' * 32}"
    (tmp_path / "broken" / half).write_bytes(b"half of a")
    again = run(tmp_path / "broken", "lives")
    assert again.stdout == whole.stdout != ""
    assert os.listdir(tmp_path / "broken") == []
