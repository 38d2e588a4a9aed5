"""The one check of what clients send."""

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode

from tagma.exchange import Expected
from tagma.flower_private import be_server, name_message
from tagma.layout import Layout
from tagma.message_limits import refuse
from tagma.strategies.replies import check_metrics, check_replies
from tagma.wire import ARRAYS, CLIENT, EXAMPLES, METRICS, pack
from tests.hostile import hollow

LAYOUT = Layout.of({"w": np.zeros(2)})
SENT = {"to-5": 5, "to-3": 3, "to-9": 9}


def instruction(node):
    be_server(1)
    message = Message(RecordDict(), node, "train")
    name_message(message, f"to-{node}")
    return message


def answer(node, vector=(1.0, 2.0), **metrics):
    content = RecordDict({ARRAYS: pack(LAYOUT, np.array(vector)), METRICS: numbers(**metrics)})
    return Message(content, reply_to=instruction(node))


def numbers(**given):
    """A record of numbers, in which a hostile client has put whatever it likes."""
    record = MetricRecord({EXAMPLES: 10})
    for name, value in given.items():
        record._data[{"examples": EXAMPLES, "client": CLIENT}.get(name, name)] = value
    return record


def without(record, name):
    del record[name]
    return record


def check(*replies, layout=LAYOUT, **expects):
    return check_replies(SENT, replies, layout=layout, expects=expects)


def reason_of(reply, **more):
    """Why the reply of node 3 is dropped, or None; the others' are good."""
    usable, rejected = check(reply, answer(5, choice=1), answer(9, choice=1), **more)
    assert [r.node for r in usable][-2:] == [5, 9]
    assert len(usable) + len(rejected) == 3
    return rejected[0].reason if rejected else None


def test_replies_come_in_the_order_of_nodes_whatever_order_they_arrive_in():
    usable, rejected = check(answer(9), answer(3), answer(5))
    assert [reply.node for reply in usable] == [3, 5, 9]
    assert rejected == []


def test_missing_repeated_and_unsolicited_replies_are_told_apart():
    usable, rejected = check(answer(9), answer(9, (7.0, 7.0)), answer(4))
    assert [reply.vector.tolist() for reply in usable] == [[1.0, 2.0]]
    assert sorted((r.node, r.reason) for r in rejected) == [
        (3, "no reply"), (4, "unsolicited"), (5, "no reply"), (9, "duplicate"),
    ]  # fmt: skip


def test_a_second_reply_cannot_make_up_for_a_bad_first_one():
    usable, rejected = check(answer(3, (np.nan, 0.0)), answer(3), answer(5), answer(9))
    assert [reply.node for reply in usable] == [5, 9]
    assert [(r.node, r.reason) for r in rejected] == [(3, "not finite"), (3, "duplicate")]


def test_a_node_cannot_answer_for_another():
    spoof = answer(3, (7.0, 7.0))
    spoof.metadata.__dict__["_src_node_id"] = 9
    usable, rejected = check(spoof, answer(3), answer(5), answer(9))
    assert [reply.vector.tolist() for reply in usable] == [[1.0, 2.0]] * 3
    assert [(r.node, r.reason) for r in rejected] == [(9, "unsolicited")]


@pytest.mark.parametrize(
    ("code", "reason", "detail"),
    [
        (ErrorCode.NODE_UNAVAILABLE, "unreachable", ""),
        (ErrorCode.MESSAGE_UNAVAILABLE, "unreachable", ""),
        (ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "error", "x" * 299 + "…"),
        (10**6, "error", "x" * 299 + "…"),
    ],
)
def test_errors_say_whether_a_node_was_away_or_failed_and_not_too_much(code, reason, detail):
    reply = Message(Error(code, "x" * 10**6), reply_to=instruction(3))
    _, rejected = check(reply, answer(5), answer(9))
    assert [(r.node, r.reason, r.detail) for r in rejected] == [(3, reason, detail)]


def test_a_client_number_is_read_and_need_not_be_there():
    usable, rejected = check(answer(3, client=8), answer(5, client=0), answer(9))
    assert [reply.client for reply in usable] == [8, 0, None]
    assert rejected == []


@pytest.mark.parametrize("number", [-1, True, "7", 2**31, 10**30, 1.5, 1.0, float("nan"), [7]])
def test_a_client_number_that_is_none_is_refused(number):
    assert reason_of(answer(3, client=number)) == "no client number"


def test_a_rejected_client_is_named_if_its_number_could_be_read():
    _, rejected = check(answer(3, (np.inf, 0.0), client=8), answer(5), answer(9))
    assert [(r.client, r.reason) for r in rejected] == [(8, "not finite")]


@pytest.mark.parametrize("count", [0, 1, 2**53 - 1])
def test_the_number_of_examples_is_read(count):
    usable, _ = check(answer(3, examples=count))
    assert usable[0].examples == count


@pytest.mark.parametrize(
    "count", [-1, 10.0, True, 2**53, 10**30, float("nan"), float("inf"), [10], "10", None]
)
def test_a_number_of_examples_that_is_none_is_refused(count):
    assert reason_of(answer(3, examples=count)) == "no number of examples"


def test_a_reply_without_its_number_of_examples_is_refused():
    reply = answer(3)
    reply.content[METRICS] = MetricRecord({CLIENT: 8})
    assert reason_of(reply) == "no number of examples"


CHOICE = Expected(0, 3, whole=True)


@pytest.mark.parametrize("value", [0, 3, 2.0])
def test_what_is_expected_beside_the_model_is_read(value):
    usable, _ = check(answer(3, choice=value), choice=CHOICE)
    assert usable[0].extras == {"choice": float(value)}


@pytest.mark.parametrize(
    "value",
    [
        None, float("nan"), float("inf"), float("-inf"), -1, 4, 10**160, 1.5, True, [1], [1.0],
        "1", b"1", np.array(1), 1j,
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_expected_and_no_usable_number_is_refused_by_its_name(value):
    assert reason_of(answer(3, choice=value), choice=CHOICE) == "no usable choice"


def test_what_is_expected_and_missing_is_refused_by_its_name():
    assert reason_of(answer(3), choice=CHOICE) == "no usable choice"


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e200, 10**160])
def test_a_range_without_ends_does_not_let_infinity_in(value, whole):
    open_range = Expected(-float("inf"), float("inf"), whole=whole)
    assert reason_of(answer(3, choice=value), choice=open_range) == "no usable choice"


def test_numbers_that_nobody_asked_for_do_no_harm():
    assert reason_of(answer(3, speed=float("nan"), note="hello")) is None


def two(**changes):
    return RecordDict({ARRAYS: pack(LAYOUT, np.ones(2)), METRICS: numbers()} | changes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (RecordDict(), "unexpected records"),
        (without(two(), METRICS), "unexpected records"),
        (without(two(), ARRAYS), "unexpected records"),
        (two(more=MetricRecord({"x": 1.0})), "unexpected records"),
        (two(metrics=ConfigRecord({EXAMPLES: 10})), "unexpected records"),
        (two(arrays=MetricRecord({"x": 1.0})), "unexpected records"),
        (two(arrays=ArrayRecord()), "unexpected records"),
        (two(arrays=ArrayRecord({"v": Array(np.ones(2))})), "unexpected records"),
        (two(arrays=ArrayRecord({"w": Array(np.ones(3))})), "wrong shape"),
        (two(arrays=ArrayRecord({"w": Array(np.ones(2, np.float32))})), "wrong dtype"),
        (two(arrays=ArrayRecord({"w": Array("float64", (2,), "numpy.ndarray", b"")})),
         "malformed bytes"),
    ],
)  # fmt: skip
def test_records_must_be_those_that_were_asked_for(content, reason):
    assert reason_of(Message(content, reply_to=instruction(3))) == reason


class Hostile:
    """Breaks whoever looks at it."""

    def __getattribute__(self, name):
        raise RuntimeError


def test_records_that_break_the_check_itself_are_malformed():
    reply = answer(3)
    reply.content[ARRAYS]._data["w"] = Hostile()
    assert reason_of(reply) == "malformed"


@pytest.mark.parametrize(
    ("dtype", "entry", "reason"),
    [
        ("float64", 1e149, None),
        ("float64", -1e151, "not finite"),
        ("float64", np.nan, "not finite"),
        ("float64", -np.inf, "not finite"),
        ("float32", 9e14, None),
        ("float32", -2e15, "not finite"),
        ("float32", np.nan, "not finite"),
        ("float32", np.inf, "not finite"),
    ],
)
def test_entries_whose_squares_would_overflow_are_as_good_as_infinite(dtype, entry, reason):
    layout = Layout.of({"w": np.zeros(2, dtype)})
    content = RecordDict({ARRAYS: pack(layout, np.array([1, entry], dtype)), METRICS: numbers()})
    reply = Message(content, reply_to=instruction(3))
    usable, rejected = check(reply, layout=layout)
    assert [r.reason for r in rejected if r.node == 3] == ([] if reason is None else [reason])
    assert [r.vector.dtype.name for r in usable] == ([dtype] if reason is None else [])


@pytest.mark.parametrize("entry", [np.nan, np.inf, 2e15])
def test_floating_buffers_are_checked_like_the_vector(entry):
    named = {"w": np.ones(2, np.float32), "b.running_mean": np.zeros(1, np.float32)}
    layout = Layout.of(named)
    record = pack(layout, np.ones(2), {"b.running_mean": np.array([entry], np.float32)})
    reply = Message(RecordDict({ARRAYS: record, METRICS: numbers()}), reply_to=instruction(3))
    _, rejected = check(reply, layout=layout)
    assert rejected[0].reason == "not finite"


def test_buffers_come_beside_the_vector():
    layout = Layout.of({"w": np.ones(2), "count": np.array(0)})
    record = pack(layout, np.ones(2), {"count": np.array(4)})
    reply = Message(RecordDict({ARRAYS: record, METRICS: numbers()}), reply_to=instruction(3))
    usable, _ = check(reply, layout=layout)
    assert usable[0].vector.tolist() == [1, 1]
    assert usable[0].buffers == {"count": 4}


def test_who_was_only_asked_who_it_is_sends_no_model():
    plain = Message(RecordDict({METRICS: numbers(client=8)}), reply_to=instruction(3))
    usable, rejected = check(plain, answer(5), layout=None)
    assert [(r.node, r.client, r.vector.size) for r in usable] == [(3, 8, 0)]
    assert [(r.node, r.reason) for r in rejected] == [(5, "unexpected records"), (9, "no reply")]


def evaluation(node, **metrics):
    return Message(RecordDict({METRICS: numbers(**metrics)}), reply_to=instruction(node))


def measured(*replies):
    found, rejections = check_metrics(SENT, replies)
    return {reply.node: reply.extras for reply in found}, [(r.node, r.reason) for r in rejections]


def test_of_evaluations_the_usable_numbers_are_kept_and_the_rest_is_counted():
    found, rejections = measured(
        evaluation(3, loss=0.5, accuracy=1),
        evaluation(3, loss=0.1),
        evaluation(4, loss=0.1),
        evaluation(5, loss=np.nan, a=np.inf, b=10**400, c=[1.0], d="x", e=True, f=1.7e308, g=-2.0),
        Message(Error(2, "gone"), reply_to=instruction(9)),
    )
    assert rejections == [(9, "error"), (3, "duplicate"), (4, "unsolicited")]
    assert found == {
        3: {EXAMPLES: 10, "loss": 0.5, "accuracy": 1},
        5: {EXAMPLES: 10, "g": -2.0},
    }


def test_what_a_client_says_of_its_failure_is_one_line_without_control_characters():
    said = "\x1b[2Jno\nluck\r\u202e\x00"
    _, rejected = check(Message(Error(2, said), reply_to=instruction(3)), answer(5), answer(9))
    assert rejected[0].detail == "\\x1b[2Jno luck \\u202e\\x00"


@pytest.mark.parametrize("name", ["lo\nss", "\x1b[2J", "\u202eloss", "x" * 201, b"loss", 7])
def test_a_metric_whose_name_no_log_could_show_is_left_out(name):
    told = evaluation(3, loss=0.5)
    told.content[METRICS]._data[name] = 0.5
    assert measured(told)[0] == {3: {EXAMPLES: 10, "loss": 0.5}}


def test_a_node_cannot_report_the_metrics_of_another():
    spoof = evaluation(3, loss=9.0)
    spoof.metadata.__dict__["_src_node_id"] = 9
    found, rejections = measured(spoof, evaluation(3, loss=0.5))
    assert found[3]["loss"] == 0.5
    assert (9, "unsolicited") in rejections


def test_of_very_many_metrics_only_some_are_looked_at():
    many = {f"m{number}": float(number) for number in range(1000)}
    assert len(measured(evaluation(3, **many))[0][3]) == 64


def answered_by(reply, name):
    reply.metadata.__dict__["_reply_to_message_id"] = name
    return reply


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        (lambda: evaluation(3, **{f"m{n}": 1.0 for n in range(2000)}), "too large"),
        (lambda: with_records(evaluation(3), more=MetricRecord()), "unexpected records"),
        (lambda: with_records(evaluation(3), **{METRICS: hollow(MetricRecord())}), "malformed"),
        (lambda: with_records(evaluation(3), **{METRICS: ArrayRecord()}), "unexpected records"),
        (lambda: evaluation(3, client=-1), "no client number"),
        (lambda: answered_by(evaluation(3), ["to-3"]), "no reply"),
        (lambda: refused(evaluation(3)), "too large"),
    ],
)
def test_an_evaluation_is_checked_as_any_other_reply(spoiled, reason):
    found, rejections = measured(spoiled(), evaluation(5, loss=0.5))
    assert found[5]["loss"] == 0.5
    assert 3 not in found
    assert (3, reason) in rejections


def with_records(reply, **records):
    for name, record in records.items():
        reply.content[name] = record
    return reply


def refused(reply):
    refuse(reply, "10 GB")
    return reply
