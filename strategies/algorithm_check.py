"""An algorithm whose answers are checked: a mistake is one line that names its class and method.

    strategy: Polyak.serve gave models of shape (3,) instead of (K, 100)

A state must be a dataclass that can be checkpointed, which is tried on the first that each method
gives rather than found out on resume; models are rows of the task's length and precision; clients
are among those that were offered. What an algorithm is given and the states that it makes are
read-only from then on: a method that changes one would spoil every attack that is tried out on it.

Costs microseconds a call: shapes, dtypes and client numbers are looked at, never the entries of
models.
"""

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, is_dataclass
from typing import Any, Generic

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.errors import FederationError, TagmaError
from tagma.exchange import EVALUATE, INTRODUCE, NO_MODEL, Expected, Replies, Request
from tagma.layout import Layout
from tagma.plain_state import (
    described,
    is_frozen,
    locked,
    put_together,
    taken_apart,
    type_name,
)
from tagma.strategies.algorithms.algorithm import Algorithm, S
from tagma.wire import CLIENT, EXAMPLES, ROUND, WORK

_TAKEN = (ROUND, WORK, EXAMPLES, CLIENT)
"""Names that messages use themselves."""
_LARGEST = 2**100
"""Of numbers in requests."""


class CheckedAlgorithm(Generic[S]):
    """The same algorithm, checked; `layout` is that of the task's model."""

    def __init__(self, algorithm: Algorithm[S], layout: Layout) -> None:
        self._own = algorithm
        self._layout = layout
        self._begun: type | None = None
        """That of the first state."""
        self._untried = {"start", "learn", "admit"}
        """Methods none of whose states was taken apart and put together yet."""

    def start(self, initial: Array) -> S:
        """The state before anybody was asked."""
        state: S = self._call("start", self._own.start, locked(initial))
        self._begun = type(state)
        return self._state("start", state)

    def ask(self, state: S, round_number: int, clients: Labels) -> Request:
        """What these clients, or some of them, are asked for."""
        return self._request(
            "ask", self._call("ask", self._own.ask, state, round_number, clients), clients
        )

    def learn(self, state: S, request: Request, replies: Replies) -> S:
        """The state after a round."""
        return self._state(
            "learn", self._call("learn", self._own.learn, state, request, locked(replies))
        )

    def serve(self, state: S, clients: Labels) -> tuple[Array, Labels]:
        """All models and which of them each client gets."""
        served = self._call("serve", self._own.serve, state, clients)
        if not isinstance(served, tuple) or len(served) != 2:
            raise self._wrong("serve", f"gave {described(served)} instead of (models, which)")
        models, which = served
        self._check_models("serve", models)
        self._check_which("serve", which, len(clients), len(models))
        return models, which

    def introduce(self, state: S, clients: Labels) -> Request | None:
        """What all these newcomers are asked for first."""
        request = self._call("introduce", self._own.introduce, state, clients)
        if request is None:
            return None
        request = self._request("introduce", request, clients)
        if len(request.clients) != len(clients):
            raise self._wrong("introduce", "must ask every newcomer")
        return request

    def admit(self, state: S, round_number: int, replies: Replies) -> S:
        """The state with these newcomers."""
        return self._state(
            "admit", self._call("admit", self._own.admit, state, round_number, locked(replies))
        )

    def recognises(self, state: S, client: int, vector: Array) -> bool:
        """Whether this vector can be that known client's."""
        return self._truth(
            "recognises", self._call("recognises", self._own.recognises, state, client, vector)
        )

    def everyone(self, state: S, round_number: int) -> bool:
        """Whether this round needs all clients, whatever share is sampled."""
        return self._truth(
            "everyone", self._call("everyone", self._own.everyone, state, round_number)
        )

    def counted(self, before: S, after: S, clients: Labels) -> Mask:
        """Which of these clients' replies led from one state to the next."""
        mask: Mask = self._call("counted", self._own.counted, before, after, clients)
        if not _is_array(mask, "b") or mask.shape != clients.shape:
            raise self._wrong(
                "counted", f"gave {described(mask)} instead of {len(clients)} booleans"
            )
        return mask

    def findings(self, state: S) -> object | None:
        """What was found out, for reports."""
        found: object | None = self._call("findings", self._own.findings, state)
        return found

    def _call(self, method: str, call: Callable[..., Any], *given: Any) -> Any:
        try:
            return call(*given)
        except TagmaError:
            raise
        except Exception as error:  # anybody's code may fail in any way
            problem = f"failed ({type_name(error)}: {error})"
            writes = isinstance(error, ValueError) and "read-only" in str(error)
            if writes or isinstance(error, FrozenInstanceError):
                problem = "changes what it was given; copy an array before you write to it"
            raise self._wrong(method, problem) from error

    def _wrong(self, method: str, problem: str) -> FederationError:
        return FederationError(f"strategy: {type_name(self._own)}.{method} {problem}")

    def _truth(self, method: str, value: object) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise self._wrong(method, f"gave {described(value)} instead of True or False")
        return bool(value)

    def _state(self, method: str, state: S) -> S:
        if not is_dataclass(state) or isinstance(state, type):
            raise self._wrong(method, f"gave {described(state)} instead of a dataclass")
        if not is_frozen(state):
            raise self._wrong(method, f"gave {described(state)}, which is no frozen dataclass")
        if type(state) is not self._begun:
            raise self._wrong(method, f"gave {described(state)}, another class than start")
        if method in self._untried:
            arrays: dict[str, Any] = {}
            try:
                put_together(type(state), taken_apart(state, "state", arrays), arrays)
            except Exception as problem:
                said = f"gave a state that cannot be checkpointed ({problem})"
                raise self._wrong(method, said) from problem
            self._untried.discard(method)
        return locked(state)

    def _request(self, method: str, request: Any, offered: Labels) -> Request:
        if not isinstance(request, Request):
            raise self._wrong(method, f"gave {described(request)} instead of a Request")
        if not isinstance(request.work, str) or request.work in ("", INTRODUCE, EVALUATE):
            raise self._wrong(method, f"asks for {request.work!r}, which is no work")
        self._check_clients(method, request.clients, offered)
        self._check_models(method, request.models)
        if request.which is not None:
            rows = len(request.models)
            self._check_which(method, request.which, len(request.clients), rows)
            if (request.which == NO_MODEL).any():
                raise self._wrong(method, "asks a client to which it sends no model")
        elif not len(request.models):
            raise self._wrong(method, "sends all models to everybody (which=None), and has none")
        for given in (request.settings, request.expects):
            if not isinstance(given, Mapping):
                raise self._wrong(method, f"has {described(given)} where numbers need names")
        for name, value in request.settings.items():
            if not (isinstance(value, int | float | np.number) and abs(value) < _LARGEST):
                raise self._wrong(method, f"has settings[{name!r}]={value!r}, which is no number")
        for name, wanted in request.expects.items():
            if not (isinstance(wanted, Expected) and wanted.low <= wanted.high):
                raise self._wrong(method, f"has expects[{name!r}]={wanted!r}, which is no Expected")
        for name in (*request.settings, *request.expects):
            if not isinstance(name, str) or name in _TAKEN:
                raise self._wrong(method, f"has a number called {name!r}; choose another name")
        return locked(request)

    def _check_clients(self, method: str, clients: Labels, offered: Labels) -> None:
        if np.array_equal(clients, offered) and _is_array(clients, "iu"):
            return
        if not _is_array(clients, "iu") or clients.ndim != 1:
            raise self._wrong(
                method, f"has {described(clients)} for clients instead of their numbers"
            )
        if not (clients[1:] > clients[:-1]).all():
            raise self._wrong(method, "asks clients that are not in ascending order")
        if not np.isin(clients, offered).all():
            raise self._wrong(method, "asks clients that it was not offered")

    def _check_models(self, method: str, models: Array) -> None:
        d, dtype = self._layout.size, self._layout.dtype
        if not isinstance(models, np.ndarray):
            raise self._wrong(
                method, f"gave {described(models)} instead of models of shape (K, {d})"
            )
        if models.ndim != 2 or models.shape[1] != d:
            raise self._wrong(method, f"gave models of shape {models.shape} instead of (K, {d})")
        if models.dtype != dtype:
            cast = "use .astype(initial.dtype)"
            raise self._wrong(method, f"gave models of {models.dtype} instead of {dtype}; {cast}")

    def _check_which(self, method: str, which: Labels, clients: int, models: int) -> None:
        if not _is_array(which, "iu"):
            raise self._wrong(method, f"gave {described(which)} for which instead of whole numbers")
        if which.shape != (clients,):
            raise self._wrong(method, f"gave which of shape {which.shape} instead of ({clients},)")
        if clients and not (int(which.min()) >= NO_MODEL and int(which.max()) < models):
            raise self._wrong(method, f"gave which beyond its {models} models (-1: none)")


def _is_array(value: object, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds
