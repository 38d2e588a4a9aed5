"""Of few replies, those that oppose what the client claimed."""

import numpy as np

from tagma.strategies.screening.few_replies import few_that_oppose

CLAIMED = np.eye(8)
LABELS = np.array([0, 0, 1, 1, 1, 1, 1, 1])


def test_only_where_few_replies_count_are_those_that_oppose_their_client_left_out():
    changes = -CLAIMED
    everyone = np.ones(8, dtype=bool)
    assert few_that_oppose(changes, CLAIMED, LABELS, everyone).tolist() == [True] * 2 + [False] * 6
    without_one = np.arange(8) < 7
    assert few_that_oppose(changes, CLAIMED, LABELS, without_one).all()


def test_who_goes_on_or_aside_is_not_against():
    aside = np.roll(CLAIMED, 1, axis=1)
    for changes in (CLAIMED, aside, 0 * aside):
        assert not few_that_oppose(changes, CLAIMED, LABELS, LABELS < 0).any()
