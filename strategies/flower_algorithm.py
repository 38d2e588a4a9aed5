"""A Strategy of Flower's own as an algorithm: Krum, FedMedian, FedAdam and the others, unchanged.

It is the reverse of `tagma.strategies.flower`. The Strategy is given messages, of replies that were
checked before (`tagma.strategies.replies`), so that a hostile one cannot stop the run, and returns
the next model. It sees models: with `optimiser=gradient`, those a gradient step away from the one
that was sent. Who is asked is ours to say (`sampling.fraction`, `min_replies`), and so are buffers.

Flower's strategies change while they aggregate. Here they are copied first, since a defence can be
tried out, and what they keep to themselves cannot be written down: such a run is not resumed.
"""

import inspect
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import Strategy
from pydantic import ConfigDict, create_model

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.exchange import PROXIMAL, Replies, Request
from tagma.flower_private import answer_from, be_server, is_server, name_message
from tagma.grid_wrapper import PassingGrid
from tagma.layout import Layout
from tagma.plugins import checked
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.wire import ARRAYS, EXAMPLES, METRICS, config_of, pack

_EVERYBODY = {
    "fraction_train": 1.0, "fraction_evaluate": 1.0, "min_train_nodes": 1, "min_evaluate_nodes": 1,
    "min_available_nodes": 1,
}  # fmt: skip
"""All whom we ask."""
_PROXIMAL = "proximal-mu"
"""What Flower's FedProx calls the pull towards the received model."""
_PLAIN = (int, float, bool, str)


@dataclass(frozen=True)
class Played:
    """The model, shape (d,), and how many rounds the Strategy has aggregated."""

    model: Array
    rounds: int = 0


class FlowerAlgorithm(AlgorithmBase[Played]):
    """One model, by a Strategy of Flower's."""

    resumable = False

    def __init__(self, strategy: Strategy, optimiser: ServerStep, layout: Layout) -> None:
        self._after = {0: strategy}
        """The Strategy after so many rounds; what is tried out is replaced by what happens."""
        self._step = optimiser
        self._layout = Layout(layout.parameters)

    def start(self, initial: Array) -> Played:
        """The task's initial model."""
        return Played(initial)

    def ask(self, state: Played, round_number: int, clients: Labels) -> Request:
        """What the Strategy asks for, in our words."""
        config = config_of(self._sent(state, clients[:1])[1][0]) if len(clients) else {}
        pull = config.get(_PROXIMAL)
        settings = {PROXIMAL: float(pull)} if isinstance(pull, float | int) else {}
        models, which = self.serve(state, clients)
        return self._step.request(clients, models, which, settings)

    def learn(self, state: Played, request: Request, replies: Replies) -> Played:
        """The Strategy's own aggregate."""
        strategy, sent = self._sent(state, replies.clients)
        examples = replies.examples if replies.examples.any() else np.ones_like(replies.examples)
        answer = {
            client: self._answer(self._step(state.model, vector, replies.told_by(row)), count)
            for row, (client, vector, count) in enumerate(
                zip(replies.clients.tolist(), replies.vectors, examples.tolist(), strict=True)
            )
        }
        messages = []
        for name, message in enumerate(sent):
            client = message.metadata.dst_node_id - 1
            name_message(message, str(name))
            messages.append(Message(answer[client], reply_to=message))
            answer_from(messages[-1], client + 1)
        found, _ = strategy.aggregate_train(state.rounds + 1, messages)
        rounds = state.rounds + 1
        self._after = {n: one for n, one in self._after.items() if n >= state.rounds}
        self._after[rounds] = strategy
        return Played(state.model if found is None else _vector(found, state.model), rounds)

    def serve(self, state: Played, clients: Labels) -> tuple[Array, Labels]:
        """The same to everybody."""
        return state.model[None], np.zeros(len(clients), dtype=np.int64)

    def _sent(self, state: Played, clients: Labels) -> tuple[Strategy, list[Message]]:
        """A copy of the Strategy that has made its messages for these clients, and they."""
        if not is_server():
            be_server(1)
        strategy = deepcopy(self._after[state.rounds])
        arrays = pack(self._layout, state.model)
        grid = _Nodes(clients)
        messages = strategy.configure_train(state.rounds + 1, arrays, ConfigRecord(), grid)
        # Flower draws them in random order, on which ties and sums depend.
        return strategy, sorted(messages, key=lambda message: message.metadata.dst_node_id)

    def _answer(self, model: Array, examples: int) -> RecordDict:
        content = RecordDict()
        content[ARRAYS] = pack(self._layout, model)
        content[METRICS] = MetricRecord({EXAMPLES: examples})
        return content


class _Nodes(PassingGrid):
    """A grid with a node for each client, from which nothing can be sent; node 0 is nobody's."""

    def __init__(self, clients: Labels) -> None:
        self._clients = clients

    def get_node_ids(self) -> Iterable[int]:
        return (self._clients + 1).tolist()


def _vector(found: ArrayRecord, like: Array) -> Array:
    pieces = [np.ravel(array.numpy()) for array in found.values()]
    return np.concatenate(pieces).astype(like.dtype, copy=False)


def flower_strategy(kind: type[Strategy], values: Mapping[str, Any]) -> Strategy:
    """The Strategy with these settings, which are arguments of its constructor."""
    hints = get_type_hints(kind.__init__)
    fields: dict[str, Any] = {}
    accepted = inspect.signature(kind).parameters
    for name, parameter in accepted.items():
        wanted = parameter.default is parameter.empty
        if name in _EVERYBODY and name in values:
            said = "is not used here: sampling.fraction and min_replies say who takes part"
            raise SettingError(f"strategy.{name}", values[name], said)
        if name not in _EVERYBODY and (wanted or hints.get(name) in _PLAIN):
            fields[name] = hints.get(name, Any), ... if wanted else parameter.default
    for name in ("weighted_by_key", "arrayrecord_key", "configrecord_key"):  # our messages' words
        fields.pop(name, None)
    model = create_model(
        kind.__name__, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True), **fields
    )
    checked(model, "strategy", values)
    ours = {name: value for name, value in _EVERYBODY.items() if name in accepted}
    try:
        return kind(**ours, **values)
    except Exception as error:  # whatever a constructor does not like
        raise SettingError("strategy", kind.__name__, str(error)) from None
