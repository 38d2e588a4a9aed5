"""Whom a rule leaves out: those with less than half of their due weight."""

import numpy as np

from tagma.strategies.aggregation import krum, mean, multi_krum, trimmed_mean
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule_verdicts import watched, watching

ROWS = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
CLIENTS = np.array([3, 5, 7, 9, 11])
ALL = np.ones(5, dtype=bool)


def verdicts(aggregate, **given):
    with watching() as found:
        watched(aggregate)(ROWS, clients=CLIENTS, **given)
    return found


def test_who_is_not_selected_is_left_out():
    found = verdicts(lambda rows, **given: multi_krum(rows, fraction=0.2))
    assert found.judged
    assert found.left_out(CLIENTS, ALL).tolist() == [False, False, False, False, True]
    assert len(verdicts(lambda rows, **given: krum(rows, fraction=0.2)).out) == 4


def test_a_mean_judges_nobody_weighted_or_not_and_nor_does_what_states_no_weights():
    weights = np.array([1.0, 1.0, 1.0, 1.0, 6.0])
    assert not verdicts(mean).judged
    assert not verdicts(mean, weights=weights).judged
    assert not verdicts(lambda rows, **given: trimmed_mean(rows, beta=0.2)).judged


def test_half_of_the_due_weight_is_enough():
    def uneven(rows, **given):
        return Aggregate(rows[0], weights=np.array([0.1, 0.09, 0.27, 0.27, 0.27]))

    assert verdicts(uneven).out == {5}


def test_who_did_not_count_before_the_rule_is_left_out_as_well():
    found = verdicts(mean)
    counted = np.array([True, False, True, True, True])
    assert found.left_out(CLIENTS, counted).tolist() == [False, True, False, False, False]


def test_what_is_tried_out_leaves_no_trace():
    aggregate = watched(lambda rows, **given: krum(rows, fraction=0.2))
    aggregate(ROWS, clients=CLIENTS)
    with watching() as found:
        pass
    assert not found.judged
    assert not found.out


def test_a_rule_may_say_whom_it_kept_and_no_more():
    def some(rows, **given):
        return Aggregate(rows[0], kept=np.array([True, True, True, False, True]))

    found = verdicts(some)
    assert found.judged
    assert found.out == {9}
