"""What Byzantine clients send instead of their honest answers, each from what it knows itself.

`forged` is one client's step, the same in a Flower mod (`tagma.attacks.client_mod`) and on arrays;
`LocalForgers` takes it for all clients whose replies are rows of an array.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tagma.arrays import Array, Labels
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.schedule import Adversary
from tagma.escaping import one_line
from tagma.exchange import CHOICE, Replies, Request
from tagma.layout import Named
from tagma.rng import stream
from tagma.wire import CLIENT, EXAMPLES

Failure = tuple[str, str]
"""Why there is no reply of a client: the reason that is counted, and what it says of it."""


@dataclass(frozen=True)
class Sent:
    """What one client sends."""

    vector: Array | None
    """None: nothing."""
    numbers: Mapping[str, float]
    buffers: Named


def forged(
    attack: LocalAttack, honest: Sent, view: LocalView, answer_to: Callable[[int], Sent]
) -> Sent:
    """The attack's version of an honest answer.

    `answer_to` is what the honest program answers to one of several models: who claims to have
    chosen another one forges its update of that.
    """
    numbers = attack.report(honest.numbers, view)
    claimed = numbers.get(CHOICE)
    if claimed is not None and claimed != honest.numbers.get(CHOICE):
        for row in range(len(view.models)):
            if claimed == row:
                own_stream = partial(getattr, view, "random")  # which goes on
                view = replace(view, model=view.models[row], own_stream=own_stream)
                honest = answer_to(row)
    assert honest.vector is not None
    sent = attack.forge(honest.vector, view)
    vector = None if sent is None else np.asarray(sent, dtype=np.float64)
    return Sent(vector, numbers, honest.buffers)


class LocalForgers:
    """The local attacks of a run, on rows of arrays."""

    def __init__(self, adversary: Adversary, seed: int) -> None:
        self._adversary = adversary
        self._seed = seed
        self._notes: dict[tuple[LocalAttack, int, str], dict[int, Array]] = defaultdict(dict)

    def __call__(
        self,
        round_number: int,
        request: Request,
        replies: Replies,
        chosen: Labels,
        buffers: dict[int, Named],
        answer_to: Callable[[int, int], Sent],
    ) -> dict[int, Failure]:
        """Replace the rows of Byzantine clients, in place; those whose reply is none, with reasons.

        `chosen` are the rows of the models that clients went on with, `answer_to` is what a client
        answers to a row. A number that is none becomes one that no server accepts.
        """
        failures: dict[int, Failure] = {}
        for squad in self._adversary.squads:
            attack = squad.local_in(round_number)
            if not squad.notes and (attack is None or not attack.changes_replies):
                continue
            for row in np.flatnonzero(squad.clients[replies.clients]).tolist():
                client, honest = int(replies.clients[row]), replies.vectors[row].copy()
                models = request.models if request.which is None else request.models[chosen[[row]]]
                models = models.copy()  # which attacks may spoil
                view = LocalView(
                    client=client,
                    round=round_number,
                    work=request.work,
                    model=models[chosen[row] if request.which is None else 0],
                    models=list(models),
                    past=[],
                    own_stream=partial(stream, self._seed, "attack", client, round_number),
                )
                past = {one: self._past(one, view) for one in squad.notes}
                if attack is None:
                    self._note(past, honest, honest, view)
                    continue
                numbers: dict[str, float] = {EXAMPLES: int(replies.examples[row]), CLIENT: client}
                numbers |= {name: _plain(values[row]) for name, values in replies.extras.items()}
                told = Sent(honest, numbers, buffers.get(client, {}))
                try:
                    shown = replace(view, past=past.get(attack, []))
                    sent = forged(attack, told, shown, partial(answer_to, client))
                    self._note(past, replies.vectors[row], sent.vector, view)
                except (Exception, SystemExit) as problem:  # a client may fail in any way
                    failures[client] = failure_of(problem)
                    continue
                if sent.vector is None:
                    failures[client] = "unexpected records", ""
                elif sent.vector.shape != honest.shape:
                    failures[client] = "wrong shape", ""
                else:
                    _put(sent.vector, sent.numbers, replies, row)
                if client in buffers:
                    buffers[client] = sent.buffers
        return failures

    def _past(self, attack: LocalAttack, view: LocalView) -> list[Array]:
        """The last notes of earlier rounds; the others are forgotten."""
        kept = self._notes[attack, view.client, view.work]
        last = sorted(number for number in kept if number < view.round)[-attack.remembers :]
        self._notes[attack, view.client, view.work] = {number: kept[number] for number in last}
        return [kept[number].copy() for number in last]

    def _note(
        self,
        past: Mapping[LocalAttack, list[Array]],
        honest: Array,
        sent: Array | None,
        view: LocalView,
    ) -> None:
        for attack, own in past.items():
            kept = self._notes[attack, view.client, view.work]
            kept[view.round] = noted(attack, honest, sent, replace(view, past=own))


def noted(attack: LocalAttack, honest: Array, sent: Array | None, view: LocalView) -> Array:
    """What an attack remembers of a round, of which nothing is part of the replies."""
    if sent is None or sent.shape != honest.shape:
        sent = honest
    return np.array(attack.note(honest, sent, view))


def failure_of(problem: BaseException) -> Failure:
    """A client that raised an exception."""
    return "error", one_line(f"{type(problem).__name__}: {one_line(problem)}")


def _put(vector: Array, numbers: Mapping[str, float], replies: Replies, row: int) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        replies.vectors[row] = vector
    examples = numbers.get(EXAMPLES)
    is_count = type(examples) is int and 0 <= examples < np.iinfo(np.int64).max
    replies.examples[row] = examples if is_count else -1  # type: ignore[assignment]
    for name, values in replies.extras.items():
        number = numbers.get(name)
        values[row] = number if isinstance(number, int | float) else np.nan


def _plain(number: float) -> float:
    """A whole number as an integer, as a client says it."""
    return int(number) if float(number).is_integer() else float(number)
