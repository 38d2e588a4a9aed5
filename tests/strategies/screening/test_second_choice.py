import numpy as np
import pytest

from tagma.strategies.screening.second_choice import SecondChoice

BETWEEN = np.array([[True, True, False], [False] * 3, [True, True, True]])
ROWS = np.arange(3)


def replied(choice, labels, *excess):
    """After a round in which each client's loss is so far above its least."""
    gaps = np.ones((3, 1))
    return choice.after(np.array(labels), ROWS, gaps, np.array(excess)[:, None])


def test_who_is_in_doubt_tries_every_cluster_and_stays_where_the_loss_is_least():
    choice = SecondChoice.of(BETWEEN)
    assert choice.open.tolist() == [True, False, True]
    labels, choice = replied(choice, [0, 2, 2], 4.0, 9.0, 5.0)
    assert labels.tolist() == [1, 2, 0]
    labels, choice = replied(choice, labels, 8.0, 9.0, 3.0)
    assert labels.tolist() == [0, 2, 1]
    assert choice.open.tolist() == [False, False, True]
    labels, choice = replied(choice, labels, 99.0, 9.0, 7.0)
    assert labels.tolist() == [0, 2, 0]
    assert not choice.open.any()
    after, same = replied(choice, labels, 99.0, 99.0, 99.0)
    assert after.tolist() == labels.tolist()
    assert same.excess.tolist() == choice.excess.tolist()


def test_a_client_that_is_away_tries_later():
    choice = SecondChoice.of(BETWEEN)
    labels, after = choice.after(np.array([0, 2, 2]), ROWS[1:], np.ones((2, 1)), np.ones((2, 1)))
    assert labels.tolist() == [0, 2, 0]
    assert after.open.tolist() == [True, False, True]


def test_a_loss_below_the_least_is_a_lie_and_counts_as_none():
    labels, choice = replied(SecondChoice.of(BETWEEN), [0, 2, 2], -4.0, 9.0, 5.0)
    labels, choice = replied(choice, labels, 1.0, 9.0, 5.0)
    assert labels[0] == 0
    assert (choice.excess >= -1).all()


@pytest.mark.parametrize(("other", "doubtful"), [(4.9, True), (6.0, False)])
def test_it_stays_in_doubt_where_the_odds_are_less_than_ten(other, doubtful):
    # d (e' / e - 1) = 2 log 10 at e' = 1.23 e with d = 20.
    choice = SecondChoice(np.array([[4.0, other], [np.inf, np.inf]]))
    assert choice.doubtful(20).tolist() == [doubtful, False]


def test_who_has_not_tried_all_is_in_doubt():
    assert SecondChoice.of(BETWEEN).doubtful(20).tolist() == [True, False, True]


def test_newcomers_are_in_no_doubt():
    more = SecondChoice.of(BETWEEN).with_newcomer(1)
    assert more.open.tolist() == [True, False, False, True]
