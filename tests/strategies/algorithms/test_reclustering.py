"""Clients that are clustered again in mid-run."""

import numpy as np
import pytest

from tagma.errors import TagmaError
from tagma.exchange import TRAIN
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.server_step import AverageModels
from tagma.strategies.algorithms.three_stage import ThreeStage, ThreeStageState
from tagma.strategies.clustering import Clustering
from tests.strategies.driving import advance, begin

CLIENTS = np.arange(8)
FAR = 50.0


def by_sign(clients, models):
    """Two clusters by the sign of the first coordinate; who is far away is in none."""
    labels = (models[:, 0] > 0).astype(np.int64)
    labels -= labels.min()
    k = int(labels.max()) + 1
    out = np.abs(models[:, 0]) >= FAR
    centres = np.array([models[labels == each].mean(axis=0) for each in range(k)])
    return Clustering(labels, centres, out, np.full(k, 9.0), labels[None], 0, "by hand")


def algorithm(every=2):
    return ThreeStage(
        cluster=by_sign, aggregate=mean, optimiser=AverageModels(step=1.0, local_steps=1),
        quarantine=True, recluster=every,
    )  # fmt: skip


def at(first):
    """Models of clients by their first coordinates."""
    rows = np.zeros((len(first), 3))
    rows[:, 0] = first
    return rows


ALIKE = at([1.0, 1.1, 0.9, 1.0, 1.0, 1.1, 0.9, 1.0])
TWO_KINDS = at([-1.0, -1.1, -0.9, -1.0, 1.0, 1.1, 0.9, 1.0])


def grown(state, rounds=2):
    """The state after rounds in which nobody changes anything."""
    own = algorithm()
    for _ in range(rounds):
        state = advance(own, state, CLIENTS, state.models[state.labels])
    return state


def test_every_so_many_rounds_all_get_one_model_and_are_asked():
    own, state = algorithm(), begin(algorithm(), CLIENTS, TWO_KINDS)
    for due in (False, False, True, False, False, True):
        whole = ThreeStageState(np.zeros(3), state)
        request = own.ask(whole, 2, CLIENTS)
        assert own.everyone(whole, 2) == due
        assert request.work == TRAIN
        assert (len(request.models) == 1) == due
        state = advance(own, state, CLIENTS, TWO_KINDS if due else state.models[state.labels])


def test_never_unless_asked():
    own, state = algorithm(every=0), begin(algorithm(), CLIENTS, TWO_KINDS)
    for _ in range(5):
        assert len(own.ask(ThreeStageState(np.zeros(3), state), 2, CLIENTS).models) == 2
        state = advance(own, state, CLIENTS, state.models[state.labels])


def test_groups_that_show_late_part_and_go_on_from_the_model_they_had():
    before = grown(begin(algorithm(), CLIENTS, ALIKE))
    assert len(before.models) == 1
    after = advance(algorithm(), before, CLIENTS, TWO_KINDS)
    assert after.labels.tolist() == [0] * 4 + [1] * 4
    np.testing.assert_array_equal(after.models, before.models[[0, 0]])


def test_who_is_with_others_now_moves_and_models_go_with_most_of_their_clients():
    before = grown(begin(algorithm(), CLIENTS, TWO_KINDS))
    moved = TWO_KINDS.copy()
    moved[0, 0] = 1.0
    after = advance(algorithm(), before, CLIENTS, moved)
    assert after.labels.tolist() == [1] + [0] * 3 + [1] * 4
    np.testing.assert_array_equal(after.models, before.models)
    # The other way round: what the clusters are called now does not matter.
    after = advance(algorithm(), before, CLIENTS, -TWO_KINDS)
    assert after.labels.tolist() == [1] * 4 + [0] * 4
    np.testing.assert_array_equal(after.models, before.models[[1, 0]])


def test_a_quarantine_ends_after_two_clusterings_in_a_row_and_not_before():
    first = TWO_KINDS.copy()
    first[7, 0] = FAR
    state = begin(algorithm(), CLIENTS, first)
    assert state.standing.quarantined.tolist() == [False] * 7 + [True]
    held = []
    for seen in (TWO_KINDS, first, TWO_KINDS, TWO_KINDS):
        state = advance(algorithm(), grown(state), CLIENTS, seen)
        held.append(bool(state.standing.quarantined[7]))
    assert held == [True, True, True, False]


def test_a_clustering_that_leaves_out_most_changes_nothing():
    before = grown(begin(algorithm(), CLIENTS, TWO_KINDS))
    wild = TWO_KINDS.copy()
    wild[:5, 0] = FAR
    after = advance(algorithm(), before, CLIENTS, wild)
    assert after.labels.tolist() == before.labels.tolist()
    assert not after.standing.quarantined.any()


def test_who_does_not_reply_goes_with_most_of_its_cluster():
    before = grown(begin(algorithm(), CLIENTS, TWO_KINDS))
    after = advance(algorithm(), before, CLIENTS[1:], -TWO_KINDS[1:])
    assert after.labels.tolist() == [1] * 4 + [0] * 4
    assert after.joined.tolist() == [2] + [1] * 7


def test_who_comes_back_is_still_known_by_its_first_local_model():
    own, before = algorithm(), grown(begin(algorithm(), CLIENTS, TWO_KINDS))
    state = ThreeStageState(np.zeros(3), advance(own, before, CLIENTS, -TWO_KINDS))
    assert own.recognises(state, 2, TWO_KINDS[2])
    assert not own.recognises(state, 2, -TWO_KINDS[2])


def test_gradients_cannot_be_clustered_again():
    with pytest.raises(TagmaError, match="optimiser=local"):
        algorithm_of(compose(["strategy.recluster=3"]))
