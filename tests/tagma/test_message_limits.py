"""Replies that are too large are errors as soon as they come in, on every kind of Grid."""

import gc

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

from tagma import Robust
from tagma.client.app import app as client_app
from tagma.exchange import INTRODUCE
from tagma.flower_private import be_server, name_message
from tagma.launch.engines import inprocess
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.layout import Layout
from tagma.message_limits import BEYOND_LIMITS, BeyondLimitsError, Intake, Limits
from tagma.server.drop_in.superlink_grid import bounded
from tagma.server.results.run_folder import read_metrics
from tagma.server.transport.flower_superlink import HttpGrid
from tagma.server.transport.patient_grid import PatientGrid
from tagma.settings import compose
from tagma.strategies.replies import check_replies
from tagma.wire import ARRAYS, CONFIG, EXAMPLES, METRICS, ROUND, WORK, pack
from tests.conftest import SMALL
from tests.server.drop_in.ordinary_app import TRUE, initial, ordinary_app, weight_of

LAYOUT = Layout.of({"w": np.zeros(4)})
LIMITS = Limits.of(LAYOUT)


def content(**records):
    usual = {ARRAYS: pack(LAYOUT, np.ones(4)), METRICS: MetricRecord({EXAMPLES: 3})}
    return RecordDict({**usual, **records})


def test_what_a_reply_measures():
    """128 bytes of header and 32 of numbers, a number, and the names."""
    names = len("arrays") + len("w") + len("metrics") + len("num-examples")
    assert LIMITS.measure(content()) == 128 + 32 + 8 + names
    texts = ConfigRecord({"a": "four", "b": b"12", "c": ["x", "yz"], "d": [1, 2, 3], "e": True})
    more = len("more") + 5 + 4 + 2 + (2 * 8 + 3) + 3 * 8 + 8
    assert LIMITS.measure(content(more=texts)) == LIMITS.measure(content()) + more


def array_of(size):
    array = Array("float64", (1,), "numpy.ndarray", b"")
    array.data = bytes(size)
    return array


def record(kind, entries):
    """A record with entries that Flower's own would take long to check, or refuse."""
    made = kind()
    made.__dict__["_data"] = entries
    return made


TOO_MUCH = {
    "arrays": lambda: {"more": record(ArrayRecord, {f"{n}": array_of(0) for n in range(100)})},
    "bytes of arrays": lambda: {ARRAYS: record(ArrayRecord, {"w": array_of(2**21)})},
    "keys": lambda: {METRICS: record(MetricRecord, {f"{n}": 0.0 for n in range(1_000_000)})},
    "bytes beside": lambda: {METRICS: record(MetricRecord, {"x": [0.0] * 200_000})},
    "bytes beside the": lambda: {METRICS: record(MetricRecord, {"x" * 2**21: 1.0})},
    "bytes beside the arrays": lambda: {"c": record(ConfigRecord, {"x": "x" * 2**21})},
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_nothing_of_a_reply_can_be_too_large(what):
    with pytest.raises(BeyondLimitsError, match=what):
        LIMITS.measure(content(**TOO_MUCH[what]()))


def test_nor_can_there_be_too_many_records():
    many = RecordDict()
    many.__dict__["_data"] = {f"{n}": MetricRecord() for n in range(10_000)}
    with pytest.raises(BeyondLimitsError, match="10000 keys"):
        LIMITS.measure(many)


def reply(node, **records):
    be_server(1)
    message = Message(RecordDict(), node, "train")
    name_message(message, f"to-{node}")
    return Message(content(**records), reply_to=message)


def test_what_is_refused_lets_go_of_its_content_and_is_counted_as_such():
    intake = Intake(LIMITS)
    usual = intake.take(reply(3))
    large = intake.take(reply(5, **TOO_MUCH["keys"]()))
    assert usual.has_content()
    assert not large.has_content()
    assert large.error.code == BEYOND_LIMITS
    assert intake.bytes == LIMITS.measure(usual.content)
    sent = {"to-3": 3, "to-5": 5}
    usable, rejections = check_replies(sent, [usual, large], layout=LAYOUT, expects={})
    assert [one.node for one in usable] == [3]
    assert [(one.node, one.reason) for one in rejections] == [(5, "too large")]


def greedy(message, context):
    """The ClientApp, but client 7 sends some 40 MB in every kind of reply."""
    answer = client_app(message, context)
    if context.node_config["partition-id"] == 7:
        answer.content["more"] = record(ArrayRecord, {"x": array_of(40 * 2**20)})
    return answer


def held():
    """Bytes of the arrays that are alive."""
    return sum(len(one.data) for one in gc.get_objects() if type(one) is Array)


@pytest.mark.parametrize("patient", [False, True])
def test_a_grid_holds_no_large_reply(patient):
    grid = InProcessGrid(greedy, 20, " ".join(SMALL), limits=None if patient else LIMITS)
    whole = PatientGrid(grid, lossy=False, limits=LIMITS, sleep=lambda _: None) if patient else grid
    config = ConfigRecord({ROUND: 1, WORK: INTRODUCE})
    messages = [
        Message(RecordDict({CONFIG: config}), node, "train") for node in grid.get_node_ids()
    ]
    replies = whole.send_and_receive(messages)
    assert [r.metadata.src_node_id for r in replies if r.has_error()] == [9]
    assert held() < 2**20


def test_on_the_engine_inprocess_they_are_dropped_and_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(inprocess, "client_app", greedy)
    inprocess.run(compose(SMALL), tmp_path, lambda event: None)
    metrics = read_metrics(tmp_path)
    assert metrics["replies"]["rejected"] == {"too large": 1}  # and was not asked again
    assert metrics["replies"]["used"] == 76
    assert 76 * 168 < metrics["bytes"]["received"] < 100 * 300


def test_in_anybodys_app_they_are_dropped_and_counted(caplog):
    app = ordinary_app()

    def client(message, context):
        answer = app(message, context)
        if context.node_config["partition-id"] < 3:
            answer.content["hints"] = record(ConfigRecord, {"x": b"x" * 2**24})
        return answer

    found = Robust().start(InProcessGrid(client, 16), initial(), num_rounds=2)
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.2
    assert "round 2: replies dropped: 3 too large" in caplog.text


def test_the_grid_of_a_superlink_is_bounded_in_anybodys_app():
    assert isinstance(bounded(HttpGrid(token="token"), LIMITS), PatientGrid)
    own = InProcessGrid(client_app, 2)
    assert bounded(own, LIMITS) is own
