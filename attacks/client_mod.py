"""How local attacks reach a client: a Flower mod that replaces the update in the reply."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp.typing import ClientAppCallable

from tagma.arrays import Array
from tagma.attacks.adversary import adversary_of
from tagma.attacks.attack_file import KEY, squad_named, word_in
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.local_forgery import Sent, forged, noted
from tagma.attacks.schedule import Squad
from tagma.errors import SettingError
from tagma.exchange import CHOICE
from tagma.layout import Layout
from tagma.rng import stream
from tagma.settings import Settings, settings_from
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of
from tagma.wire import ARRAYS, CONFIG, METRICS, models_of, pack, round_of, unpack, work_of

_NOTE = "note"


def byzantine_mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Let the honest program answer, then forge its update if this client attacks now."""
    settings = settings_from(str(context.run_config["overrides"]))
    round_number = round_of(message)
    squad = _squad(settings, context)
    attack = None if squad is None else squad.local_in(round_number)
    changes = attack is not None and attack.changes_replies
    if squad is None or not (squad.notes or changes):
        return call_next(message, context)
    layout = layout_of(task_of(settings))
    received = [model for model, _ in models_of(message, layout)]
    reply = call_next(message, context)
    if not received:
        return reply
    client = client_number(context)
    work = work_of(message)
    honest, buffers = unpack(reply.content[ARRAYS], layout)
    numbers = _numbers(reply)
    view = LocalView(
        client=client,
        round=round_number,
        work=work,
        model=received[int(numbers.get(CHOICE, 0))],
        models=received,
        past=[],
        own_stream=partial(stream, settings.seed, "attack", client, round_number),
    )
    memory = Notes(context.state, squad, view)
    if attack is None:
        memory.add(honest, honest)
        return reply

    def answer_to(model: int) -> Sent:
        other = _answer_to(model, message, context, call_next)
        vector, own = unpack(other.content[ARRAYS], layout)
        return Sent(vector, _numbers(other), own)

    sent = forged(attack, Sent(honest, numbers, buffers), memory.view_of(attack), answer_to)
    memory.add(honest, sent.vector)
    if sent.vector is None:
        reply.content = RecordDict()
        return reply
    if sent.numbers is not numbers:
        reply.content[METRICS] = MetricRecord(dict(sent.numbers))
    vector = sent.vector
    if vector.shape != (layout.size,):  # which no server accepts
        name = layout.parts[0].name
        reply.content[ARRAYS] = pack(Layout.of({name: vector}), vector)
    else:
        with np.errstate(over="ignore"):
            reply.content[ARRAYS] = pack(layout, vector, sent.buffers)
    return reply


def _numbers(reply: Message) -> dict[str, float]:
    """What the honest program says beside its update."""
    metrics = reply.content[METRICS]
    assert isinstance(metrics, MetricRecord)
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def _answer_to(
    model: int, message: Message, context: Context, call_next: ClientAppCallable
) -> Message:
    """What the honest program answers where it gets no other model than this one of several."""
    whole = message.content
    message.content = RecordDict({CONFIG: whole[CONFIG], ARRAYS: whole[f"{ARRAYS}.{model}"]})
    try:
        return call_next(message, context)
    finally:
        message.content = whole


def local_attack(settings: Settings, context: Context, round_number: int) -> LocalAttack | None:
    """What a client does by itself instead of the honest program in a round."""
    squad = _squad(settings, context)
    return None if squad is None else squad.local_in(round_number)


def _squad(settings: Settings, context: Context) -> Squad | None:
    """Whether a client lies: as its node's setting `byzantine` says, else by its number.

    A node that was started as a Byzantine client, and that the settings do not name, runs the first
    attack. In a demonstration a file of the node's comes before both.
    """
    if KEY in context.node_config and (word := word_in(Path(str(context.node_config[KEY])))):
        return squad_named(word, settings)
    adversary = adversary_of(settings)
    squad = adversary.squad_of(client_number(context))
    if "byzantine" not in context.node_config:
        return squad
    if not context.node_config["byzantine"]:
        return None
    if adversary.colludes:
        raise SettingError(
            "attack", "omniscient",
            "a node started with byzantine=true sees its own updates only; choose a local attack",
        )  # fmt: skip
    return squad or adversary.squads[0]


def client_number(context: Context) -> int:
    """The number of the client that a node plays."""
    return int(context.node_config["partition-id"])


class Notes:
    """What the attacks of a squad remember, kept with the node from round to round.

    By round: a client that is asked twice, because its first answer was lost, answers alike.
    """

    def __init__(self, state: RecordDict, squad: Squad, view: LocalView) -> None:
        self._state, self._view = state, view
        self._prefix = {one: f"attack.{view.work}.{n}." for n, one in enumerate(squad.notes)}
        self._past = {attack: self._read(attack) for attack in squad.notes}

    def view_of(self, attack: LocalAttack) -> LocalView:
        """The view with what this attack noted in earlier rounds."""
        return replace(self._view, past=self._past.get(attack, []))

    def add(self, honest: Array, sent: Array | None) -> None:
        """Note the present round."""
        for attack, prefix in self._prefix.items():
            note = noted(attack, honest, sent, self.view_of(attack))
            layout = Layout.of({_NOTE: note})
            self._state[f"{prefix}{self._view.round}"] = pack(layout, note)

    def _read(self, attack: LocalAttack) -> list[Array]:
        """The last notes of earlier rounds; the others are forgotten."""
        prefix = self._prefix[attack]
        names = (name.removeprefix(prefix) for name in self._state if name.startswith(prefix))
        kept = sorted(map(int, names))
        last = [number for number in kept if number < self._view.round][-attack.remembers :]
        for number in kept:
            if number not in last:
                del self._state[f"{prefix}{number}"]
        return [self._note_of(f"{prefix}{number}") for number in last]

    def _note_of(self, name: str) -> Array:
        record = self._state[name]
        assert isinstance(record, ArrayRecord)
        return np.array(record[_NOTE].numpy())
