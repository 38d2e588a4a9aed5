from dataclasses import replace

import numpy as np

from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.clustered_clients import OUT_IN_STAGE_TWO
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep
from tagma.strategies.algorithms.three_stage import ThreeStage
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.standing import Answers, Screening, Standing, _among
from tests.strategies.driving import admit, advance, begin

CLIENTS = np.arange(12)


def one_cluster(clients, local_models):
    """Everyone in one cluster around 0; the ball ends at 5."""
    m = len(clients)
    labels = np.zeros(m, dtype=int)
    outside = np.linalg.norm(local_models, axis=1) > 5
    return Clustering(
        labels,
        np.zeros((1, local_models.shape[1])),
        outside,
        np.array([5.0]),
        labels[None],
        0,
        "given",
    )


def federation(optimiser=None, *, outside=(), seed=0, **rules):
    """Clients whose loss is ||w - w_i||^2 / 2: gradients are w - w_i."""
    local_models = np.random.default_rng(seed).normal(size=(12, 8))
    local_models[list(outside)] = 100
    algorithm = ThreeStage(
        cluster=one_cluster,
        aggregate=mean,
        optimiser=optimiser or GradientStep(step=1.0),
        **rules,
    )
    return algorithm, begin(algorithm, CLIENTS, local_models), local_models


def test_without_rules_every_reply_counts():
    algorithm, state, local_models = federation(outside=[3])
    state = advance(algorithm, state, CLIENTS, state.models - local_models)
    assert np.allclose(state.models[0], local_models.mean(axis=0))
    assert state.standing.counts.all()


def test_clients_outside_the_ball_do_not_take_part():
    algorithm, state, local_models = federation(outside=[3], quarantine=True)
    assert state.standing.quarantined.tolist() == [i == 3 for i in range(12)]
    state = advance(algorithm, state, CLIENTS, state.models - local_models)
    assert np.allclose(state.models[0], np.delete(local_models, 3, axis=0).mean(axis=0))
    assert state.cluster_of(3) == 0  # it still gets the model


def test_a_reply_that_disagrees_is_ignored_and_two_exclude_the_client():
    algorithm, state, local_models = federation(reply_check=True)
    honest = np.arange(12) != 5
    lies = state.models - local_models
    lies[5] *= -1
    state = advance(algorithm, state, CLIENTS, lies)
    assert np.allclose(state.models[0], local_models[honest].mean(axis=0))
    assert state.standing.strikes.tolist() == [int(i == 5) for i in range(12)]
    lies = state.models - local_models
    lies[5] *= -1
    state = advance(algorithm, state, CLIENTS, lies)
    assert state.standing.excluded[5]
    # It is out, whatever it sends, until as many replies have agreed.
    state = advance(algorithm, state, CLIENTS, state.models - local_models)
    assert np.allclose(state.models[0], local_models[honest].mean(axis=0))
    assert not state.standing.excluded[5]
    state = advance(algorithm, state, CLIENTS, state.models - local_models)
    assert np.allclose(state.models[0], local_models.mean(axis=0))


def test_in_local_mode_the_way_a_client_went_is_checked():
    algorithm, state, local_models = federation(
        AverageModels(step=0.5, local_steps=1), reply_check=True
    )
    replies = state.models + 0.5 * (local_models - state.models)
    replies[5] = state.models - 0.5 * (local_models[5] - state.models[0])
    state = advance(algorithm, state, CLIENTS, replies)
    assert state.standing.strikes.tolist() == [int(i == 5) for i in range(12)]


def test_a_client_that_sends_nothing_gets_no_strike():
    algorithm, state, local_models = federation(reply_check=True)
    there = CLIENTS[:7]
    state = advance(algorithm, state, there, (state.models - local_models)[:7])
    assert not state.standing.strikes.any()


def test_too_few_replies_judge_nobody():
    algorithm, state, local_models = federation(reply_check=True)
    state = advance(algorithm, state, CLIENTS[:3], -(state.models - local_models)[:3])
    assert not state.standing.strikes.any()


def in_quarantine_but_sound(**rules):
    """Client 3 claims what is just outside the ball; its replies are like the others'."""
    algorithm, state, local_models = federation(quarantine=True, **rules)
    local_models[3] *= 5.5 / np.linalg.norm(local_models[3])
    state = begin(algorithm, CLIENTS, local_models)
    assert state.standing.quarantined[3]
    return algorithm, state, local_models


def test_three_rounds_of_evidence_end_a_quarantine():
    algorithm, state, local_models = in_quarantine_but_sound(readmission=True)
    for number in range(3):
        assert state.standing.quarantined[3], number
        replies = state.models - local_models
        replies[3] = replies[0]
        state = advance(algorithm, state, CLIENTS, replies)
    assert not state.standing.quarantined[3]


def test_evidence_must_be_in_a_row():
    algorithm, state, local_models = in_quarantine_but_sound(readmission=True)
    for number in range(6):
        replies = state.models - local_models
        replies[3] = 1000 if number % 3 == 2 else replies[0]
        state = advance(algorithm, state, CLIENTS, replies)
    assert state.standing.quarantined[3]


def test_without_readmission_a_quarantine_never_ends():
    algorithm, state, local_models = in_quarantine_but_sound()
    for _ in range(5):
        replies = state.models - local_models
        replies[3] = replies[0]
        state = advance(algorithm, state, CLIENTS, replies)
    assert state.standing.quarantined[3]


def test_those_in_quarantine_do_not_speak_for_each_other():
    outside = [0, 1, 2, 3, 4, 5]
    algorithm, state, local_models = federation(outside=outside, quarantine=True, readmission=True)
    for _ in range(4):
        replies = state.models - local_models
        replies[outside] = 50 + np.random.default_rng(1).normal(size=(6, 8))
        state = advance(algorithm, state, CLIENTS, replies)
    assert state.standing.quarantined[outside].all()


def test_fewer_than_five_others_let_nobody_go():
    algorithm, state, local_models = in_quarantine_but_sound(readmission=True)
    for few in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]):
        after = state
        for _ in range(4):
            replies = after.models - local_models
            replies[3] = replies[0]
            after = advance(algorithm, after, np.array(few), replies[few])
        assert after.standing.quarantined[3] == (len(few) == 5)


def test_replies_like_the_others_do_not_help_who_claimed_something_else():
    algorithm, state, local_models = in_quarantine_but_sound(readmission=True, reply_check=True)
    for _ in range(4):
        replies = state.models - local_models
        replies[3] = replies[0]  # but it claimed that its minimum is elsewhere
        state = advance(algorithm, state, CLIENTS, replies)
    assert state.standing.quarantined[3]


def test_those_in_quarantine_are_no_judges_and_get_no_strikes():
    outside = [0, 1, 2, 3, 4, 5]
    algorithm, state, local_models = federation(outside=outside, quarantine=True, reply_check=True)
    replies = state.models - local_models
    replies[outside] = -1000 * replies[outside]
    state = advance(algorithm, state, CLIENTS, replies)
    assert not state.standing.strikes.any()
    assert np.allclose(state.models[0], local_models[6:].mean(axis=0))


def test_where_most_would_be_in_quarantine_nobody_is_and_the_run_says_so():
    outside = [0, 1, 2, 3, 4, 5, 6]
    algorithm, state, local_models = federation(outside=outside, quarantine=True, confined=True)
    assert state.standing.counts.all()
    assert state.contradiction == OUT_IN_STAGE_TWO
    assert state.confinement is None
    assert np.allclose(state.models[0], np.median(local_models, axis=0))
    replies = state.models - local_models
    state = advance(algorithm, state, CLIENTS, replies)
    trimmed = np.sort(replies, axis=0)[4:8].mean(axis=0)  # 40 % from each side
    assert np.allclose(state.models[0], np.median(local_models, axis=0) - trimmed)


def test_those_who_make_others_look_odd_do_not_become_the_measure():
    algorithm, state, local_models = federation(reply_check=True)
    for _ in range(4):
        lies = state.models - local_models
        lies[:5] *= -1
        state = advance(algorithm, state, CLIENTS, lies)
    assert state.standing.excluded.tolist() == [i < 5 for i in range(12)]
    assert state.contradiction is None


def test_if_most_replies_seem_odd_nobody_is_ignored():
    standing = Standing.new(np.zeros(12, dtype=bool))
    models = np.zeros((12, 8))
    claims = np.random.default_rng(0).normal(size=(12, 8))
    answers = Answers(np.arange(12), np.zeros(12, dtype=int), models, claims, claims)
    used, after = Screening(reply_check=True).judge(standing, np.arange(12), lambda: answers)
    assert used.all()
    assert not after.strikes.any()


def test_replies_of_few_examples_may_be_odder():
    algorithm, state, local_models = federation(reply_check=True)
    replies = state.models - local_models
    replies += 0.02 * np.random.default_rng(1).normal(size=replies.shape)
    replies[5] = (state.models - local_models)[5] + 0.3 * np.random.default_rng(2).normal(size=8)
    assert advance(algorithm, state, CLIENTS, replies).standing.strikes[5] == 1
    weights = np.where(CLIENTS == 5, 1 / 16, 1.0)
    state = replace(state, weights=weights)
    assert advance(algorithm, state, CLIENTS, replies).standing.strikes[5] == 0


def test_a_late_client_in_quarantine_is_let_go_on_the_same_evidence():
    algorithm, state, local_models = federation(quarantine=True, readmission=True)
    late = 6 * np.ones(8) / np.sqrt(8)  # the ball ends at 5, for a newcomer at 5.4
    state = admit(algorithm, state, 12, late, 2)
    everyone = np.append(CLIENTS, 12)
    for number in range(3):
        assert state.standing.quarantined.tolist() == [False] * 12 + [True], number
        replies = state.models - local_models
        before = replies.mean(axis=0)
        expected = state.models[0] - before
        state = advance(algorithm, state, everyone, np.vstack([replies, replies[0]]))
        assert np.allclose(state.models[0], expected)  # it has no influence
    assert state.standing.counts.all()


def test_rounds_without_a_reply_neither_add_to_the_evidence_nor_end_it():
    algorithm, state, local_models = in_quarantine_but_sound(readmission=True)
    there = np.delete(CLIENTS, 3)
    for number in range(5):
        replies = state.models - local_models
        replies[3] = replies[0]
        clients = CLIENTS if number in (0, 2, 4) else there
        state = advance(algorithm, state, clients, replies[clients])
        assert state.standing.quarantined[3] == (number < 4)


def test_rounds_with_too_few_to_compare_with_say_nothing():
    algorithm, state, local_models = in_quarantine_but_sound(readmission=True)
    few = np.array([0, 1, 2, 3, 4])
    for clients in (CLIENTS, CLIENTS, few, CLIENTS):
        assert state.standing.quarantined[3]
        replies = state.models - local_models
        replies[3] = replies[0]
        state = advance(algorithm, state, clients, replies[clients])
    assert not state.standing.quarantined[3]


def test_a_newcomer_has_a_clean_record():
    standing = Standing(
        np.array([True, False]), np.array([0, 2]), np.array([False, True]), np.array([1, 0])
    )
    grown = standing.with_newcomer(1, quarantined=False)
    assert grown.quarantined.tolist() == [True, False, False]
    assert grown.strikes.tolist() == [0, 0, 2]
    assert grown.excluded.tolist() == [False, False, True]
    assert grown.evidence.tolist() == [1, 0, 0]
    assert standing.with_newcomer(2, quarantined=True).quarantined.tolist() == [True, False, True]


def test_honest_replies_from_quarantine_are_among_those_of_a_small_cluster():
    source = np.random.default_rng(0)
    inside = [
        _among(source.normal(size=(20, 40)), source.normal(size=(5, 40))).mean() for _ in range(40)
    ]
    assert np.mean(inside) >= 0.98
