"""Attacks in any Flower app: a mod for its ClientApp, and a Grid for its ServerApp.

    app = ClientApp(mods=[byzantine("sign_flip", fraction=0.2, seed=0)])

    grid = byzantine_grid(grid, "alie", fraction=0.2)     # before strategy.start(grid, ...)

The app is served as by Flower's FedAvg: a message and its reply hold one ArrayRecord each, of the
same arrays, whose floating ones are the model. The mod is for attacks that see their own client
only, on every engine and in deployments; a node's setting `byzantine=true` or `false` decides there
who attacks. The Grid is for attacks that see all updates of a round.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.clientapp.typing import ClientAppCallable
from flwr.serverapp import Grid

from tagma.arrays import Array, Labels
from tagma.attacks.adversary import phases_of, share_of
from tagma.attacks.attacked_grid import WholeRounds
from tagma.attacks.base import Attack, LocalAttack, LocalView, OmniscientAttack
from tagma.attacks.client_mod import Notes
from tagma.attacks.collusion import Collusion
from tagma.attacks.local_forgery import Sent, forged
from tagma.attacks.schedule import Adversary, Phase, Squad
from tagma.counts import ceil_of
from tagma.errors import SettingError, TagmaError
from tagma.exchange import TRAIN, Replies, Request
from tagma.layout import Layout, Named
from tagma.rng import stream
from tagma.tasks.roles import byzantine_clients, role_order
from tagma.wire import ROUND, pack

Mod = Callable[[Message, Context, ClientAppCallable], Message]


def byzantine(
    attack: str | LocalAttack = "sign_flip",
    *,
    fraction: float = 0.0,
    clients: Sequence[int] | None = None,
    seed: int = 0,
    **settings: Any,
) -> Mod:
    """A mod by which a share of the clients, or those of these partitions, are Byzantine.

    `attack` is a local one of `tagma list attacks`, with its settings by keyword, such as
    `scale=5`, `start=2`, or one of your own. Which clients attack follows from the number of
    partitions, the fraction and the seed, and is the same in every round and on every engine. What
    a node is told by `--node-config "byzantine=true"` comes first.
    """
    share, chosen = share_of(fraction, clients, seed)
    squad = Squad(np.ones(1, dtype=bool), phases_of(attack, settings))
    for phase in squad.phases:
        _check_local(phase)

    def mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        if message.metadata.message_type != "train":
            return call_next(message, context)
        if not _is_byzantine(context, share, chosen, seed):
            return call_next(message, context)
        return _attacked(squad, seed, message, context, call_next)

    return mod


def byzantine_grid(
    grid: Grid,
    attack: str | OmniscientAttack = "alie",
    *,
    fraction: float = 0.0,
    seed: int = 0,
    **settings: Any,
) -> Grid:
    """The Grid, with a share of its nodes Byzantine: they see all updates before they answer.

    `attack` is an omniscient one of `tagma list attacks`, with its settings by keyword, or one of
    your own. Which nodes attack follows from the order of their ids and the seed.
    """
    if not isinstance(grid, Grid):
        raise SettingError("grid", type(grid).__name__, "must be the Grid of a ServerApp")
    share, _ = share_of(fraction, None, seed)
    phases = phases_of(attack, settings)
    for phase in phases:
        _check_omniscient(phase)
    return _CollusionGrid(grid, phases, share, seed)


def _check_local(phase: Phase) -> None:
    attack = phase.attack
    if isinstance(attack, OmniscientAttack):
        raise _unfit(attack, "it sees all updates of a round; use byzantine_grid for it")
    if type(attack).data is not LocalAttack.data:
        raise _unfit(attack, "it changes the data of a task of ours, not those of an app")
    if attack.needs_choice:
        raise _unfit(attack, "an app's clients do not choose among several models")


def _check_omniscient(phase: Phase) -> None:
    attack = phase.attack
    if not isinstance(attack, OmniscientAttack):
        raise _unfit(attack, "it sees its own client only; give it to the ClientApp: byzantine")
    if attack.needs_local_models:
        raise _unfit(
            attack, "it needs local models and the true groups, which an app does not tell"
        )
    if getattr(attack, "optimise", False):
        raise SettingError("attack.optimise", True, "the defence of an app cannot be rehearsed")


def _unfit(attack: Attack, why: str) -> SettingError:
    return SettingError("attack", type(attack).__name__, why)


def _is_byzantine(
    context: Context, fraction: float, clients: frozenset[int] | None, seed: int
) -> bool:
    told = context.node_config
    if "byzantine" in told:
        return bool(told["byzantine"])
    if "partition-id" not in told or (clients is None and "num-partitions" not in told):
        raise TagmaError(
            "this node has no partition-id and num-partitions: say whether it is Byzantine, by "
            '--node-config "byzantine=true" or false'
        )
    number = int(told["partition-id"])
    if clients is not None:
        return number in clients
    return bool(byzantine_clients(int(told["num-partitions"]), fraction, seed)[number])


def _attacked(
    squad: Squad, seed: int, message: Message, context: Context, call_next: ClientAppCallable
) -> Message:
    number = _round_of(message)
    received, _ = _model_in(message)  # before the app may change it
    reply = call_next(message, context)
    attack = squad.local_in(number)
    if reply.has_error() or (attack is None and not squad.notes):
        return reply
    answer, name = _model_in(reply)
    layout = _layout_of(answer)
    model = _vector(layout, received)
    if model is None:
        raise TagmaError("byzantine: the client answers with other arrays than it received")
    honest = layout.vector(answer)
    client = int(context.node_config.get("partition-id", context.node_id))
    own_stream = partial(stream, seed, "attack", client, number)
    view = LocalView(client, number, TRAIN, model, [model], [], own_stream)
    memory = Notes(context.state, squad, view)
    if attack is None:
        memory.add(honest, honest)
        return reply
    metrics = next(iter(reply.content.metric_records.values()), None)
    numbers = {key: v for key, v in (metrics or {}).items() if isinstance(v, int | float)}
    before = Sent(honest, numbers, {part.name: answer[part.name] for part in layout.buffers})
    sent = forged(attack, before, memory.view_of(attack), lambda _: before)
    memory.add(honest, sent.vector)
    if sent.vector is None:
        reply.content = RecordDict()
        return reply
    if metrics is not None and sent.numbers is not numbers:
        metrics.update(sent.numbers)
    _put(reply, name, layout, sent.vector, sent.buffers)
    return reply


def _put(reply: Message, name: str, layout: Layout, vector: Array, buffers: Named) -> None:
    if vector.shape != (layout.size,):  # which no server should accept
        layout, buffers = Layout.of({layout.parts[0].name: vector}), {}
    with np.errstate(over="ignore"):
        reply.content[name] = pack(layout, vector, buffers)


def _round_of(message: Message) -> int:
    """The round, where the message says it, as those of Flower's strategies do."""
    for config in message.content.config_records.values():
        if isinstance(number := config.get(ROUND), int):
            return number
    return 1


def _model_in(message: Message) -> tuple[Named, str]:
    """The model of a message, and what its record is called."""
    records = message.content.array_records
    if len(records) != 1:
        raise TagmaError(f"byzantine: one ArrayRecord is expected in a message, not {len(records)}")
    ((name, record),) = records.items()
    return {key: array.numpy() for key, array in record.items()}, name


def _layout_of(named: Named) -> Layout:
    try:
        return Layout.of(named)
    except ValueError as problem:
        raise TagmaError(f"byzantine: {problem}") from None


def _vector(layout: Layout, named: Named) -> Array | None:
    """The parameters of a model; None if it is of another layout, in names or shapes."""
    shapes = {name: array.shape for name, array in named.items()}
    if shapes != {part.name: part.shape for part in layout.parts}:
        return None
    return layout.vector(named)


class _CollusionGrid(WholeRounds):
    """Nodes are numbered in the order in which they are first seen; a share of them colludes."""

    def __init__(self, grid: Grid, phases: tuple[Phase, ...], fraction: float, seed: int) -> None:
        super().__init__(grid)
        self._phases = phases
        self._fraction = fraction
        self._seed = seed
        self._number_of: dict[int, int] = {}
        self._byzantine: set[int] = set()

    def forge(self, sent: Sequence[Message], replies: Sequence[Message]) -> None:
        """Replace the models in the replies of the Byzantine nodes."""
        self._meet([*self._grid.get_node_ids(), *(m.metadata.dst_node_id for m in sent)])
        asked = {message.metadata.message_id: message for message in sent}
        models = _Models()
        layout = _layout_of(_model_in(sent[0])[0])
        numbers, rows, found, carriers = [], [], [], []
        for reply in replies:
            question = asked.pop(reply.metadata.reply_to_message_id, None)  # one reply to each
            if question is None or not reply.has_content():
                continue
            answer = _usable(layout, reply)
            if answer is not None:
                numbers.append(self._number_of[question.metadata.dst_node_id])
                rows.append(models.row_of(layout, question))
                found.append(answer)
                carriers.append(reply)
        if not found:
            return
        clients, order = np.array(numbers), np.argsort(numbers)
        request = Request(TRAIN, clients[order], np.array(models.rows), np.array(rows)[order])
        before = Replies(clients[order], np.array(found)[order], np.ones_like(order))
        after = self._collusion()(_round_of(sent[0]), request, before)
        for row in np.flatnonzero((after.vectors != before.vectors).any(axis=1)):
            carrier = carriers[order[row]]
            named, name = _model_in(carrier)
            buffers = {part.name: named[part.name] for part in layout.buffers}
            _put(carrier, name, layout, after.vectors[row], buffers)

    def _meet(self, nodes: Iterable[int]) -> None:
        strangers = sorted(set(nodes) - self._number_of.keys())
        known = len(self._number_of)
        for number, node in enumerate(strangers, start=known):
            self._number_of[node] = number
        lacking = ceil_of(self._fraction, len(self._number_of)) - len(self._byzantine)
        chosen: Labels = role_order(len(strangers), self._seed)[: max(0, lacking)] + known
        self._byzantine.update(chosen.tolist())

    def _collusion(self) -> Collusion:
        mask = np.isin(np.arange(len(self._number_of)), [*self._byzantine])
        return Collusion(
            Adversary((Squad(mask, self._phases),)),
            groups=None,
            rehearsal=_no_rehearsal,
            program=_no_program,
            seed=self._seed,
        )


class _Models:
    """The models that were sent, each once, where messages share its record."""

    def __init__(self) -> None:
        self.rows: list[Array] = []
        self._row_of: dict[int, int] = {}

    def row_of(self, layout: Layout, message: Message) -> int:
        """The row of the model that a message carries."""
        (record,) = message.content.array_records.values()
        if id(record) not in self._row_of:
            vector = _vector(layout, {key: array.numpy() for key, array in record.items()})
            if vector is None:
                raise TagmaError("byzantine_grid: the models of a round must be of one layout")
            self._row_of[id(record)] = len(self.rows)
            self.rows.append(vector)
        return self._row_of[id(record)]


def _usable(layout: Layout, reply: Message) -> Array | None:
    """The model in a reply; what is broken is left to the server."""
    records: Mapping[str, ArrayRecord] = reply.content.array_records
    if len(records) != 1:
        return None
    try:
        vector = _vector(layout, _model_in(reply)[0])
    except (ValueError, TypeError, EOFError):
        return None
    return vector if vector is not None and np.isfinite(vector).all() else None


def _no_rehearsal(request: Request, replies: Replies) -> float:
    raise TagmaError("the defence of an app cannot be rehearsed: choose another attack")


def _no_program(*asked: object) -> Array:
    raise TagmaError("the clients of an app cannot be asked twice: choose another attack")
