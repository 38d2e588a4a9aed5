"""Whatever a client does, the run ends well and the others are served as if it were not there."""

import json
from functools import cache

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord
from safetensors.numpy import load_file

from tagma.client.app import app as client_app
from tagma.errors import FederationError
from tagma.exchange import CHOICE
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
from tagma.server.rounds import RoundsPlan, play
from tagma.server.wiring import algorithm_of
from tagma.settings import compose, join_overrides
from tagma.strategies.flower import AlgorithmStrategy
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of
from tagma.wire import ARRAYS, CLIENT, METRICS, round_of
from tests.algorithms import ALGORITHMS, TINY
from tests.hostile import CHOICES, WAYS, empty, error, fail, nothing, put, put_vector, say

ODD = 7
"""The client that misbehaves."""
IFCA = {name: (say(CHOICE, value), "no usable choice") for name, value in CHOICES.items()}

EVERY_ROUND = frozenset({1, 2, 3})


class Grid(InProcessGrid):
    """A grid in which client ODD is away in some rounds."""

    def __init__(self, client, settings, away):
        super().__init__(client, task_of(settings).clients, join_overrides(settings.overrides))
        self.away = away
        self.round = 0

    def get_node_ids(self):
        return [
            node
            for node, context in self._contexts.items()
            if context.node_config["partition-id"] != ODD or self.round not in self.away
        ]


def odd_client(change, rounds):
    """The ClientApp, but client ODD changes its updates in the given rounds."""

    def client(message, context):
        reply = client_app(message, context)
        mine = context.node_config["partition-id"] == ODD
        if mine and round_of(message) in rounds and ARRAYS in reply.content:
            return change(reply)
        return reply

    return client


def federation(name, client=client_app, away=frozenset(), more=()):
    """What every round brought, by the very strategy and loop of rounds that runs have."""
    settings = compose([*TINY, *ALGORITHMS[name], *more])
    task = task_of(settings)
    grid = Grid(client, settings, away)
    strategy = AlgorithmStrategy(
        algorithm_of(settings), task.initial(), layout=layout_of(task), seed=settings.seed,
        sampling=settings.sampling.fraction,
    )  # fmt: skip
    rounds = []
    for number in EVERY_ROUND:
        grid.round = number
        plan = RoundsPlan(
            number, number, evaluates=lambda number: number == 3, on_round=rounds.append
        )
        play(strategy, grid, plan, timeout=1, patience=1)
    return rounds


@cache
def without_it(name, rounds):
    """A run in which client ODD is simply not there in these rounds."""
    return federation(name, away=rounds)


def others(outcome):
    """The other clients' models, one row each."""
    clients = outcome.clients != ODD
    return outcome.clients[clients], outcome.models[outcome.which[clients]]


BROKEN = [
    pytest.param(name, change, reason, id=f"{name}-{way}")
    for name in ALGORITHMS
    for way, (change, reason) in (WAYS | (IFCA if name == "ifca" else {})).items()
]


@pytest.mark.parametrize(("name", "change", "reason"), BROKEN)
@pytest.mark.parametrize("rounds", [EVERY_ROUND, {2}], ids=["always", "once"])
def test_a_broken_reply_is_dropped_counted_and_harmless_in_every_algorithm(
    name, change, reason, rounds
):
    found = federation(name, odd_client(change, rounds))
    expected = without_it(name, frozenset(rounds))
    for outcome, absent in zip(found, expected, strict=True):
        for ours, theirs in zip(others(outcome), others(absent), strict=True):
            assert np.array_equal(ours, theirs)
        assert (outcome.which != -1).sum() >= 7
        assert len(outcome.replies) == 7 + (rounds == {2} and outcome.number != 2)
    # A node whose first answer is broken is not asked again where its place depends on it.
    asked = [min(rounds)] if name in ("three_stage", "tagma", "local", "oracle") else sorted(rounds)
    reasons = [(outcome.number, *lost) for outcome in found for lost in outcome.rejected]
    played = [number for number in asked if number <= len(found)]
    assert [(number, why) for number, _, why in reasons] == [(number, reason) for number in played]
    assert reasons[0][1] in ({ODD} if rounds == {2} else {ODD, None})


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"local"}))
@pytest.mark.parametrize("rounds", [EVERY_ROUND, {2}], ids=["always", "once"])
def test_a_sound_reply_of_that_client_would_have_made_a_difference(name, rounds):
    there, absent = federation(name)[-1], without_it(name, frozenset(rounds))[-1]
    assert not np.array_equal(others(there)[1], others(absent)[1])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_where_clients_are_drawn_a_broken_introduction_is_as_good_as_none(name):
    def client(message, context):
        reply = client_app(message, context)
        return say(CLIENT, -1)(reply) if context.node_config["partition-id"] == ODD else reply

    half = ("sampling.fraction=0.5",)
    found = federation(name, client, more=half)
    expected = federation(name, away=EVERY_ROUND, more=half)
    for outcome, absent in zip(found, expected, strict=True):
        assert outcome.clients.tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert np.array_equal(outcome.models, absent.models)
        assert np.array_equal(outcome.which, absent.which)
    assert [outcome.rejected for outcome in found] == [[(None, "no client number")], [], []]


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"oracle"}))
def test_clients_of_somebody_elses_app_need_no_numbers(name):
    """They are numbered by their nodes, which are in order here. (The oracle goes by numbers.)"""

    def client(message, context):
        return say(CLIENT, None)(client_app(message, context))

    for outcome, expected in zip(federation(name, client), federation(name), strict=True):
        assert np.array_equal(outcome.models, expected.models)
        assert np.array_equal(outcome.which, expected.which)
        assert outcome.rejected == []


@pytest.mark.parametrize("attack", ["none", "ipm"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_number_that_no_client_has_ends_no_run(name, attack, tmp_path):
    settings = compose([
        *TINY, *ALGORITHMS[name], f"attack={attack}", "evaluate_every=1",
        *(["attack.optimise=true"] if attack == "ipm" else []),
    ])  # fmt: skip

    def change(reply):
        return say(CLIENT, 2**31 - 1)(reply)

    grid = Grid(odd_client(change, EVERY_ROUND), settings, frozenset())
    run_federation(grid, settings, tmp_path, [])
    metrics = read_metrics(tmp_path)
    assert metrics["replies"]["rejected"] == {}
    assert metrics["participation"]["took_no_part"] == [ODD]
    assert sum(cluster["size"] for cluster in metrics["clusters"]) == 8


def models(folder):
    return load_file(folder / "models.safetensors")["models"]


NAN = put_vector(*[np.nan] * 5)


@pytest.mark.parametrize(("rounds", "used"), [({1, 2, 3, 4}, 76), ({3}, 79)])
def test_what_was_dropped_is_counted_in_the_metrics(rounds, used, run_small, tmp_path):
    run_small(client=odd_client(fail, rounds))
    expected = models(tmp_path)
    metrics = run_small(client=odd_client(NAN, rounds))
    assert np.array_equal(models(tmp_path), expected)
    found = metrics["replies"]
    assert metrics["participation"]["exchanges"]["asked"] == used + 1
    assert found["used"] == used
    assert found["rejected"] == {"not finite": 1}
    assert found["rejected_clients"] == {str(ODD): {"not finite": 1}}


def test_a_client_that_never_had_a_place_is_as_good_as_absent(run_small, tmp_path):
    metrics = run_small(client=odd_client(fail, {1}))
    assert metrics["messages"] == 20 + 3 * 19 + 19
    assert sum(cluster["size"] for cluster in metrics["clusters"]) == 19


@pytest.mark.parametrize("number", [-1, True, "7", 2**40, 1.5])
def test_a_client_without_a_proper_number_takes_no_part(number, run_small):
    metrics = run_small(client=odd_client(say(CLIENT, number), {1}))
    assert metrics["replies"]["rejected"] == {"no client number": 1}
    assert metrics["participation"]["took_no_part"] == [ODD]


def test_a_number_claimed_twice_belongs_to_nobody(run_small):
    metrics = run_small(client=odd_client(say(CLIENT, 3), {1}))
    assert metrics["replies"]["rejected"] == {}
    assert metrics["participation"]["took_no_part"] == [3, ODD]
    assert sum(cluster["size"] for cluster in metrics["clusters"]) == 20


def reporting(change, who=None):
    """The ClientApp, but one client, or all, change what they report of their models."""

    def client(message, context):
        reply = client_app(message, context)
        mine = who is None or context.node_config["partition-id"] == who
        return change(reply) if mine and message.metadata.message_type == "evaluate" else reply

    return client


@pytest.mark.parametrize("loss", [float("nan"), float("-inf"), 10**160, [0.1], "0.1", None])
def test_losses_that_are_no_numbers_are_left_out(loss, run_small):
    honest = run_small()["client_loss"]
    found = run_small(client=reporting(say("loss", loss), ODD))["client_loss"]
    assert np.isfinite(honest).all()
    assert np.isfinite(found).all()
    assert found != honest


@pytest.mark.parametrize("change", [fail, nothing, error, empty, put(METRICS, ArrayRecord())])
def test_evaluations_that_are_broken_are_left_out(change, run_small):
    metrics = run_small(client=reporting(change, ODD))
    assert np.isfinite(metrics["client_loss"]).all()
    found = metrics["replies"]["evaluations"]
    assert (found["asked"], found["used"], sum(found["rejected"].values())) == (20, 19, 1)


def test_byzantine_clients_cannot_make_the_reported_loss_infinite(run_small):
    assert run_small(client=reporting(say("loss", 1.7e308)))["client_loss"] is None


def test_one_broken_reply_does_not_disarm_an_omniscient_attack(run_small, tmp_path):
    whole = run_small("attack=ipm", client=odd_client(fail, set()))["estimation_error"]
    assert whole > 2 * run_small("attack=none")["estimation_error"]
    for change in (NAN, put_vector(1.0, 1.0, 1.0), fail):
        metrics = run_small("attack=ipm", client=odd_client(change, {1, 2, 3, 4}))
        assert sum(metrics["replies"]["rejected"].values()) == 1
        assert metrics["estimation_error"] > whole / 2


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


@pytest.mark.parametrize(
    ("strategy", "what"),
    [("three_stage", "local models"), ("fedavg", "updates"), ("ifca", "updates")],
)
def test_no_usable_reply_at_all_is_a_clear_error(strategy, what, run_small):
    def client(message, context):
        raise RuntimeError

    with pytest.raises(FederationError, match=rf"usable {what} of 0 of 20 clients \(20 RuntimeE"):
        run_small(f"strategy={strategy}", client=client)


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
