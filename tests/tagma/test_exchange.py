"""Requests and replies as arrays: rows belong together."""

import numpy as np

from tagma.exchange import Replies, Request

REQUEST = Request(
    "gradient", np.array([2, 5, 7]), np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([1, 0, 1])
)


def test_clients_received_the_rows_that_are_theirs():
    assert REQUEST.rows(np.array([7, 5])).tolist() == [1, 0]
    assert REQUEST.received(np.array([5, 7])).tolist() == [[1, 1], [2, 2]]
    assert REQUEST.received(np.empty(0, dtype=int)).shape == (0, 2)


def test_some_replies_keep_everything_that_belongs_to_them():
    replies = Replies(
        np.array([1, 3, 4]),
        np.array([[1.0], [3.0], [4.0]], dtype=np.float32),
        np.array([10, 30, 40]),
        {"choice": np.array([0.0, 1.0, 0.0])},
    )
    some = replies.only(replies.extras["choice"] == 0)
    assert (len(replies), len(some)) == (3, 2)
    assert some.clients.tolist() == [1, 4]
    assert some.vectors.tolist() == [[1], [4]]
    assert some.vectors.dtype == np.float32
    assert some.examples.tolist() == [10, 40]
    assert some.extras["choice"].tolist() == [0, 0]
