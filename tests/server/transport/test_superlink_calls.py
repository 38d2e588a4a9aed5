"""A SuperLink that does not answer is asked again; one that refuses is not."""

import math

import httpx
import pytest
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError
from flwr.superlink.grid.http_grid import HttpGrid

from tagma.server.transport.superlink_calls import Link


def status(code):
    request = httpx.Request("POST", "https://superlink/")
    return httpx.HTTPStatusError("", request=request, response=httpx.Response(code))


class Failing:
    """A call that fails so often, and then has a result."""

    def __init__(self, problem, times):
        self.problem, self.left = problem, times

    def __call__(self):
        if self.left:
            self.left -= 1
            raise self.problem
        return "result"


@pytest.mark.parametrize(
    "problem",
    [
        httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING]"),
        httpx.ReadTimeout("slow"),
        status(500),
        ObjectPushError("object", 1, "session"),
    ],
)
def test_what_passes_is_tried_again(problem):
    pauses = []
    link = Link(None, pauses.append)
    assert link.away_until == -math.inf
    assert link.call(Failing(problem, 2)) == "result"
    assert pauses == [1.0, 1.0]
    assert link.away_until > -math.inf


@pytest.mark.parametrize("problem", [status(403), status(404), RuntimeError("a mistake")])
def test_what_does_not_pass_is_not(problem):
    with pytest.raises(type(problem)):
        Link(None, pytest.fail).call(Failing(problem, 1))


def test_errors_of_the_superlink_are_believed_after_a_minute(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tagma.server.transport.superlink_calls.time.monotonic", lambda: now[0])

    def sleep(seconds):
        now[0] += seconds

    with pytest.raises(httpx.HTTPStatusError):
        Link(None, sleep).call(Failing(status(500), math.inf))
    assert now == [60]
    # Nobody at the other end may be a longer absence.
    assert Link(None, sleep).call(Failing(httpx.ConnectError("nobody"), 200)) == "result"


def test_what_is_tolerated_is_done_without():
    link = Link(None)
    with link.tolerated():
        raise httpx.ReadError("broken")
    assert link.away_until > -math.inf
    with pytest.raises(httpx.HTTPStatusError), link.tolerated():
        raise status(404)


def test_it_hears_of_the_failures_after_which_flower_tries_again():
    grid = HttpGrid(token="token")
    link = Link(grid, pytest.fail)
    invoker = grid._retry_invoker
    invoker.wait_function = lambda seconds: None
    assert invoker.invoke(Failing(httpx.ConnectError("nobody"), 1)) == "result"
    assert link.away_until > -math.inf
