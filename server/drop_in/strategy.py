"""Any algorithm in the place of Flower's FedAvg, in an app that knows nothing of Tagma.

The app's ClientApp is served as FedAvg serves it: it gets a model and a configuration, trains, and
answers with its model and metrics. Which model a node gets is the algorithm's to say
(`tagma.strategies.algorithms.algorithm`); an app cannot be asked for gradients, so algorithms that
ask for models are the ones that fit.

Everything that clients send is checked first (`tagma.strategies.replies`): what is unusable is
dropped, counted and logged, where Flower's own strategies skip the round or fail.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from tagma.errors import FederationError, SettingError, TagmaError
from tagma.exchange import Request
from tagma.given_path import given_path
from tagma.rng import stream
from tagma.server.drop_in.arguments import with_checked_numbers
from tagma.server.drop_in.foreign_federation import Exchange, ForeignFederation, Keys
from tagma.server.drop_in.foreign_replies import ForeignReplies, median_metrics
from tagma.server.drop_in.patient_exchange import PatientExchange, patience_on
from tagma.server.drop_in.result import ClusteredResult
from tagma.server.drop_in.saved_run import SavedRun
from tagma.server.drop_in.superlink_grid import bounded
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.algorithm import Algorithm
from tagma.strategies.quorum import TooFewAnswers
from tagma.strategies.round_outcome import Round
from tagma.wire import ROUND

_log = logging.getLogger("tagma")
_WAIT = 1.0
"""Seconds between two looks at how many nodes are there."""
EvaluateFunction = Callable[[int, ArrayRecord], MetricRecord | None]


class AlgorithmInFedAvgsPlace(FedAvg):
    """FedAvg's arguments and conventions, with any algorithm; `Robust` and `Clustered` choose it.

    `checkpoint` is a folder from which a run that was broken off goes on, at the next `start`,
    unless what is `described`, the choice of the algorithm, is another then.
    `choose_by` is the metric of the app's `evaluate` by which clients choose among several models,
    the least one, where the algorithm lets them. Metrics are summed up by their medians, unless
    functions are given. A round that less than the share `quorum` of the clients answers is tried
    again for `quorum_timeout` seconds; then the run is broken off by an error.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        *,
        seed: int,
        checkpoint: str | Path | None,
        described: Any,
        choose_by: str,
        quorum: float,
        quorum_timeout: float,
        **fedavg: Any,
    ) -> None:
        ours = {"seed": seed, "quorum": quorum, "quorum_timeout": quorum_timeout}
        fedavg = with_checked_numbers({**ours, **fedavg})
        self._seed: int = fedavg.pop("seed")
        self._quorum: float = fedavg.pop("quorum")
        self._quorum_timeout: float = fedavg.pop("quorum_timeout")
        for name in ("train_metrics_aggr_fn", "evaluate_metrics_aggr_fn"):
            fedavg[name] = fedavg.get(name) or median_metrics
        super().__init__(**fedavg)
        self._algorithm = algorithm
        self._saved = None
        if checkpoint is not None:
            run = [type(self).__name__, described, self._seed]
            self._saved = SavedRun(given_path("checkpoint", checkpoint), run)
        self._choose_by = choose_by
        self._federation: ForeignFederation | None = None
        self._result = ClusteredResult()
        self._done = 0
        """Rounds before those of this `start`."""
        self._timeout = 3600.0
        self._evaluate_config = ConfigRecord()
        self._request: Request | None = None
        self._sent: list[Message] = []
        self._expected = 0
        """How many should answer what was sent."""
        self._tries: PatientExchange | None = None

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: EvaluateFunction | None = None,
    ) -> ClusteredResult:
        """Play the rounds, all or those that are left; Flower's own loop, see there."""
        if not isinstance(grid, Grid):
            raise SettingError("grid", type(grid).__name__, "must be the Grid of a ServerApp")
        num_rounds = with_checked_numbers({"num_rounds": num_rounds})["num_rounds"]
        with nullcontext() if self._saved is None else self._saved.held():
            return self._play(
                grid, initial_arrays, num_rounds, timeout,
                train_config, evaluate_config, evaluate_fn,
            )  # fmt: skip

    def _play(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int,
        timeout: float,
        train_config: ConfigRecord | None,
        evaluate_config: ConfigRecord | None,
        evaluate_fn: EvaluateFunction | None,
    ) -> ClusteredResult:
        federation = self._federation = self._begun(initial_arrays)
        grid = bounded(grid, federation.limits)
        self._result, self._done, self._timeout = ClusteredResult(), 0, timeout
        self._evaluate_config = ConfigRecord(dict(evaluate_config or {}))
        if self._saved is not None and self._saved.exists:
            self._done = self._saved.restore(federation.run, self._result)
            if self._done >= num_rounds:
                raise TagmaError(f"num_rounds={num_rounds}: {self._done} are done already")
            _log.info("going on after round %d, from %s", self._done, self._saved.file)
        done, before = self._done, self._result

        def evaluated(number: int, arrays: ArrayRecord) -> MetricRecord | None:
            if number == 0 and done:
                return None
            assert evaluate_fn is not None
            found = evaluate_fn(number + done, arrays)
            if found is not None:
                before.evaluate_metrics_serverapp[number + done] = found
            return found

        try:
            found = super().start(
                grid,
                federation.largest() if done else initial_arrays,
                num_rounds - done,
                timeout,
                train_config,
                evaluate_config,
                evaluated if evaluate_fn else None,
            )
        except TooFewAnswers as problem:
            raise FederationError(f"{problem}; {self._how_to_go_on()}") from None
        if self._saved is not None:
            self._saved.remove()
        result = replace(before, arrays=found.arrays)
        federation.describe(result)
        return result

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Every client that is drawn trains the model that the algorithm gives it."""
        if self.fraction_train == 0.0:
            return []
        if self._federation is None:
            self._federation = self._begun(arrays)
        number = config[ROUND] = server_round + self._done
        return self._exchange(grid, self._train_messages, number, config)

    def _train_messages(
        self, federation: ForeignFederation, number: int, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        run = federation.run
        if run.outcome.number != number:
            run.outcome = Round(number)
        online, exchange = self._nodes_of(grid, number), self._exchange_on(grid)
        federation.welcome(online, config, exchange)
        present = federation.present(online)
        size = max(int(len(present) * self.fraction_train), self.min_train_nodes)
        run.sampling = min(1.0, size / max(1, len(present)))
        request = run.algorithm.ask(run.state, number, run.draw(number, present)[0])
        self._expected = run.expected(number, request)
        to_evaluate = ConfigRecord({**self._evaluate_config, ROUND: number})
        self._request = federation.answerable(request, to_evaluate, exchange)
        self._sent = federation.messages(self._request, config, "train")
        return self._sent

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Let the algorithm learn; sum up the metrics of the replies that count."""
        federation = self._federation
        if federation is None or self._request is None or self._tries is None:
            return None, None
        number = server_round + self._done
        found = self._tries.enough(replies, partial(self._trained, federation))
        request = self._request
        if not found.usable:
            _log.warning("round %d: no usable reply, all models stay", number)
            return federation.largest(), None
        counted = federation.learn(request, found)
        metrics = found.summary(counted, self.train_metrics_aggr_fn, self.weighted_by_key)
        self._result.train_metrics_clientapp[number] = metrics
        return federation.largest(), metrics

    def _trained(self, federation: ForeignFederation, replies: Iterable[Message]) -> ForeignReplies:
        assert self._request is not None
        found = federation.received(self._sent, replies)
        federation.check_answers(self._request, found, self._expected)
        return found

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """A share of the clients, each with the model that it is served."""
        self._sent = []
        if self.fraction_evaluate == 0.0 or self._federation is None:
            return []
        number = config[ROUND] = server_round + self._done
        return self._exchange(grid, self._evaluate_messages, number, config)

    def _evaluate_messages(
        self, federation: ForeignFederation, number: int, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        request = federation.run.to_evaluate(federation.present(self._nodes_of(grid, number)))
        present = len(request.clients)
        size = max(int(present * self.fraction_evaluate), self.min_evaluate_nodes)
        drawn = stream(self._seed, "evaluation", number).permutation(present)[:size]
        drawn.sort()
        assert request.which is not None
        request = replace(request, clients=request.clients[drawn], which=request.which[drawn])
        self._expected = federation.run.of_all(len(drawn), present)
        self._sent = federation.messages(request, config, "evaluate")
        return self._sent

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Sum up what the clients report; the round is over."""
        federation = self._federation
        if federation is None:
            return None
        number, metrics = server_round + self._done, None
        if self._sent and self._tries is not None:
            found = self._tries.enough(replies, partial(self._evaluated, federation))
            nodes = [reply.node for reply in found.usable]
            metrics = found.summary(nodes, self.evaluate_metrics_aggr_fn, self.weighted_by_key)
            self._result.evaluate_metrics_clientapp[number] = metrics
        if self._saved is not None:
            self._saved.save(federation.run, number, self._result)
        return metrics

    def _evaluated(
        self, federation: ForeignFederation, replies: Iterable[Message]
    ) -> ForeignReplies:
        found = federation.received(self._sent, replies, evaluation=True)
        federation.check_evaluation(len(self._sent), found, self._expected)
        return found

    def _exchange(
        self, grid: Grid, configure: Callable[..., list[Message]], *given: Any
    ) -> list[Message]:
        """The messages of an exchange, which can be had again."""
        assert self._federation is not None
        self._tries = PatientExchange(
            self._federation.run, partial(configure, self._federation, *given, grid), grid,
            seconds=self._quorum_timeout, timeout=self._timeout,
        )  # fmt: skip
        return self._tries.messages()

    def _begun(self, arrays: ArrayRecord) -> ForeignFederation:
        if not isinstance(arrays, ArrayRecord):
            raise SettingError(
                "initial_arrays",
                type(arrays).__name__,
                "must be an ArrayRecord, such as ArrayRecord(model.state_dict())",
            )
        named = {name: array.numpy() for name, array in arrays.items()}
        try:
            run: AlgorithmRun[Any] = AlgorithmRun(
                self._algorithm, named, seed=self._seed, quorum=self._quorum
            )
            if not np.isfinite(run.initial).all():
                raise ValueError("an entry is not finite")
        except ValueError as problem:
            raise SettingError("initial_arrays", f"{len(arrays)} arrays", str(problem)) from None
        keys = Keys(
            self.arrayrecord_key, self.configrecord_key, self.weighted_by_key, self._choose_by
        )
        return ForeignFederation(run, keys)

    def _exchange_on(self, grid: Grid) -> Exchange:
        return lambda messages: grid.send_and_receive(messages, timeout=self._timeout)

    def _nodes_of(self, grid: Grid, number: int) -> set[int]:
        """All nodes, once there are enough; after round 1 they are not waited for without end."""
        online = set(grid.get_node_ids())
        seconds = patience_on(grid, self._quorum_timeout)
        give_up = monotonic() + (seconds if number > 1 else inf)
        if len(online) < self.min_available_nodes:
            _log.info("waiting for %d nodes, %d are here", self.min_available_nodes, len(online))
        while len(online) < self.min_available_nodes:
            if monotonic() >= give_up:
                raise FederationError(
                    f"round {number}: {len(online)} nodes are here, "
                    f"min_available_nodes={self.min_available_nodes}; waited for "
                    f"quorum_timeout={seconds:g} s; {self._how_to_go_on()}"
                )
            sleep(_WAIT)
            online = set(grid.get_node_ids())
        return online

    def _how_to_go_on(self) -> str:
        if self._saved is not None and self._saved.exists:
            return f"the next start goes on from {self._saved.file}"
        return "with checkpoint=FOLDER the next start would go on"
