"""How local attacks reach a client: a Flower mod that replaces the update in the reply."""

from functools import partial

import numpy as np
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp.typing import ClientAppCallable

from tagma.arrays import Array
from tagma.attacks.adversary import adversary_of
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.local_forgery import Sent, forged
from tagma.attacks.schedule import Squad
from tagma.errors import SettingError
from tagma.exchange import CHOICE
from tagma.layout import Layout
from tagma.rng import stream
from tagma.settings import Settings, settings_from
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of
from tagma.wire import ARRAYS, CONFIG, METRICS, models_of, pack, round_of, unpack, work_of


def byzantine_mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Let the honest program answer, then forge its update if this client attacks now."""
    settings = settings_from(str(context.run_config["overrides"]))
    round_number = round_of(message)
    squad = _squad(settings, context)
    attack = None if squad is None else squad.local_in(round_number)
    changes = attack is not None and attack.changes_replies
    if squad is None or not (squad.remembers or changes):
        return call_next(message, context)
    layout = layout_of(task_of(settings))
    received = [model for model, _ in models_of(message, layout)]
    reply = call_next(message, context)
    if not received:
        return reply
    client = client_number(context)
    work = work_of(message)
    honest, buffers = unpack(reply.content[ARRAYS], layout)
    past = remember(context.state, work, round_number, honest, squad.remembers)
    if attack is None:
        return reply
    numbers = _numbers(reply)
    view = LocalView(
        client=client,
        round=round_number,
        work=work,
        model=received[int(numbers.get(CHOICE, 0))],
        models=received,
        past=past,
        own_stream=partial(stream, settings.seed, "attack", client, round_number),
    )

    def answer_to(model: int) -> Sent:
        other = _answer_to(model, message, context, call_next)
        vector, own = unpack(other.content[ARRAYS], layout)
        return Sent(vector, _numbers(other), own)

    sent = forged(attack, Sent(honest, numbers, buffers), view, answer_to)
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
    attack.
    """
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


def remember(
    state: RecordDict, work: str, round_number: int, honest: Array, count: int
) -> list[Array]:
    """The last `count` updates of earlier rounds, kept with the node from round to round.

    By round: a client that is asked twice, because its first answer was lost, answers alike.
    """
    if not count:
        return []
    prefix = f"attack.{work}."
    kept = sorted(int(name.removeprefix(prefix)) for name in state if name.startswith(prefix))
    past = [number for number in kept if number < round_number][-count:]
    for number in kept:
        if number not in past:
            del state[f"{prefix}{number}"]
    layout = Layout.of({"update": honest})
    state[f"{prefix}{round_number}"] = pack(layout, honest)
    return [unpack(state[f"{prefix}{number}"], layout)[0] for number in past]
