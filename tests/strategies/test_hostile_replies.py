"""Whatever a client does, the run ends well and the others are served as if it were not there."""

import json
from collections import Counter

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from safetensors.numpy import load_file

from tagma.client.app import app as client_app
from tagma.errors import FederationError
from tagma.wire import ABOUT, CLIENT, METRICS, UPDATE, VECTOR, pack, round_of

ODD = 7
"""The client that misbehaves."""


def break_raise(reply):
    raise RuntimeError("out of memory")


def break_nothing(reply):
    return None


def break_error(reply):
    return Message(error=Error(2, "gone"), metadata=reply.metadata)


def break_empty(reply):
    reply.content = RecordDict()
    return reply


def break_extra_record(reply):
    reply.content["more"] = MetricRecord({"x": 1.0})
    return reply


def break_extra_key(reply):
    reply.content[UPDATE]["more"] = reply.content[UPDATE][VECTOR]
    return reply


def break_type(reply):
    reply.content[UPDATE] = MetricRecord({"x": 1.0})
    return reply


def put(vector):
    def change(reply):
        reply.content[UPDATE] = pack(vector)
        return reply

    return change


def put_array(array):
    def change(reply):
        reply.content[UPDATE] = ArrayRecord({VECTOR: array})
        return reply

    return change


WAYS = {
    "raises": (break_raise, "error"),
    "nothing": (break_nothing, "error"),
    "error reply": (break_error, "error"),
    "empty": (break_empty, None),
    "extra record": (break_extra_record, "unexpected records"),
    "extra key": (break_extra_key, "unexpected records"),
    "other type": (break_type, "unexpected records"),
    "nan": (put(np.array([1.0, np.nan, 0, 0, 0])), "not finite"),
    "infinite": (put(np.array([1.0, -np.inf, 0, 0, 0])), "not finite"),
    "overflowing": (put(np.full(5, 1e200)), "not finite"),
    "short": (put(np.ones(4)), "wrong shape"),
    "no entries": (put(np.ones(0)), "wrong shape"),
    "matrix": (put_array(Array(np.ones((5, 1)))), "wrong shape"),
    "integers": (put_array(Array(np.ones(5, dtype=int))), "wrong dtype"),
    "lying header": (
        put_array(Array("float64", (5,), "numpy.ndarray", b"junk")),
        "malformed bytes",
    ),
}


def odd_client(change, rounds):
    """The ClientApp, but client ODD changes its replies in the given rounds."""

    def client(message, context):
        reply = client_app(message, context)
        mine = context.node_config["partition-id"] == ODD
        if mine and round_of(message) in rounds and UPDATE in reply.content:
            return change(reply)
        return reply

    return client


def absent_client(rounds):
    """The ClientApp, but client ODD does not answer in the given rounds."""
    return odd_client(break_raise, rounds)


def models(folder):
    return load_file(folder / "models.safetensors")["models"]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rounds", [{1, 2, 3, 4}, {3}], ids=["always", "in round 3"])
def test_a_broken_reply_is_dropped_counted_and_harmless(way, rounds, run_small, tmp_path):
    change, reason = WAYS[way]
    run_small(client=absent_client(rounds))
    expected = models(tmp_path)
    metrics = run_small(client=odd_client(change, rounds))
    assert np.array_equal(models(tmp_path), expected)
    rejected = Counter(metrics["replies"]["rejected"])
    if reason:
        assert rejected == {reason: 1}
    assert rejected.total() == 1
    assert metrics["replies"]["used"] == 80 - (1 if rounds == {3} else 4)


def test_a_client_that_never_had_a_place_is_as_good_as_absent(run_small, tmp_path):
    metrics = run_small(client=absent_client({1}))
    assert metrics["messages"] == 20 + 3 * 19 + 19
    assert sum(cluster["size"] for cluster in metrics["clusters"]) == 19


def test_a_rejected_client_is_named_when_it_says_who_it_is(run_small):
    metrics = run_small(client=odd_client(put(np.full(5, np.nan)), {1, 2, 3, 4}))
    assert metrics["replies"]["rejected_clients"] == {str(ODD): {"not finite": 1}}


@pytest.mark.parametrize("number", [-1, True, "7", 2**40, 1.5])
def test_a_client_without_a_proper_number_takes_no_part(number, run_small):
    def change(reply):
        if ABOUT in reply.content:
            reply.content[ABOUT] = ConfigRecord({CLIENT: number})
        return reply

    metrics = run_small(client=odd_client(change, {1}))
    assert metrics["replies"]["rejected"] == {"no client number": 1}


def test_a_number_claimed_twice_belongs_to_nobody(run_small):
    def change(reply):
        if ABOUT in reply.content:
            reply.content[ABOUT] = ConfigRecord({CLIENT: 3})
        return reply

    metrics = run_small(client=odd_client(change, {1}))
    assert metrics["replies"]["rejected"] == {}
    assert sum(cluster["size"] for cluster in metrics["clusters"]) == 20


def test_losses_that_are_no_numbers_are_left_out(run_small):
    honest = run_small()["client_loss"]

    def client(message, context):
        reply = client_app(message, context)
        if METRICS in reply.content and context.node_config["partition-id"] == ODD:
            reply.content[METRICS] = MetricRecord({"loss": float("nan")})
        return reply

    assert all(np.isfinite(run_small(client=client)["client_loss"]))
    assert all(np.isfinite(honest))


def test_byzantine_clients_cannot_make_the_reported_loss_infinite(run_small):
    def client(message, context):
        reply = client_app(message, context)
        if METRICS in reply.content:
            reply.content[METRICS] = MetricRecord({"loss": 1.7e308})
        return reply

    assert run_small(client=client)["client_loss"] is None


def test_one_broken_reply_does_not_disarm_an_omniscient_attack(run_small, tmp_path):
    for change in (put(np.full(5, np.nan)), put(np.ones(3)), break_raise):
        metrics = run_small("attack=ipm", client=odd_client(change, {1, 2, 3, 4}))
        assert sum(metrics["replies"]["rejected"].values()) == 1


def test_a_client_cannot_answer_for_another(run_small, tmp_path):
    run_small()
    expected = models(tmp_path)

    def client(message, context):
        reply = client_app(message, context)
        if context.node_config["partition-id"] == ODD:
            reply.metadata.__dict__["_reply_to_message_id"] = "1"
            reply.metadata.__dict__["_src_node_id"] = 2
        return reply

    metrics = run_small(client=client)
    assert metrics["replies"]["rejected"] == {}
    assert np.array_equal(models(tmp_path), expected)


def test_a_client_that_exits_is_only_one_client(run_small):
    def change(reply):
        raise SystemExit(0)

    metrics = run_small(client=odd_client(change, {2}))
    assert metrics["replies"]["rejected"] == {"error": 1}


def test_no_usable_local_model_at_all_is_a_clear_error(run_small):
    def client(message, context):
        raise RuntimeError

    with pytest.raises(
        FederationError, match=r"no client sent a usable local model \(RuntimeError"
    ):
        run_small(client=client)


def test_a_client_cannot_change_what_another_one_receives(run_small, tmp_path):
    run_small()
    expected = models(tmp_path)

    def client(message, context):
        reply = client_app(message, context)
        for record in message.content.values():
            for array in record.values():
                if isinstance(array, Array):
                    array.data = b""
            record.clear()
        message.content.clear()
        return reply

    run_small(client=client)
    assert np.array_equal(models(tmp_path), expected)


def test_metrics_are_strict_json_even_when_models_diverge(run_small, tmp_path):
    run_small("optimiser.step=1e40")
    json.loads((tmp_path / "metrics.json").read_text(), parse_constant=pytest.fail)
