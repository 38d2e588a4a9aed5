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
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from tagma.errors import SettingError, TagmaError
from tagma.exchange import Request
from tagma.given_path import given_path
from tagma.rng import stream
from tagma.server.drop_in.arguments import with_checked_numbers
from tagma.server.drop_in.foreign_federation import Exchange, ForeignFederation, Keys
from tagma.server.drop_in.foreign_replies import median_metrics
from tagma.server.drop_in.result import ClusteredResult
from tagma.server.drop_in.saved_run import SavedRun
from tagma.strategies.algorithm_run import AlgorithmRun, Round
from tagma.strategies.algorithms.algorithm import Algorithm
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
    functions are given.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        *,
        seed: int,
        checkpoint: str | Path | None,
        described: Any,
        choose_by: str,
        **fedavg: Any,
    ) -> None:
        fedavg = with_checked_numbers({"seed": seed, **fedavg})
        self._seed: int = fedavg.pop("seed")
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

        found = super().start(
            grid,
            federation.largest() if done else initial_arrays,
            num_rounds - done,
            timeout,
            train_config,
            evaluate_config,
            evaluated if evaluate_fn else None,
        )
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
        federation, run = self._federation, self._federation.run
        number = config[ROUND] = server_round + self._done
        run.outcome = Round(number)
        online, exchange = self._nodes_of(grid), self._exchange_on(grid)
        federation.welcome(online, config, exchange)
        present = federation.present(online)
        size = max(int(len(present) * self.fraction_train), self.min_train_nodes)
        run.sampling = min(1.0, size / max(1, len(present)))
        request = run.algorithm.ask(run.state, number, run.draw(number, present)[0])
        to_evaluate = ConfigRecord({**self._evaluate_config, ROUND: number})
        self._request = federation.answerable(request, to_evaluate, exchange)
        self._sent = federation.messages(self._request, config, "train")
        return self._sent

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Let the algorithm learn; sum up the metrics of the replies that count."""
        federation, request = self._federation, self._request
        if federation is None or request is None:
            return None, None
        number = server_round + self._done
        found = federation.received(self._sent, replies)
        if number == 1:
            federation.begin(request, found)
        if not found.usable:
            _log.warning("round %d: no usable reply, all models stay", number)
            return federation.largest(), None
        counted = federation.learn(request, found)
        metrics = found.summary(counted, self.train_metrics_aggr_fn, self.weighted_by_key)
        self._result.train_metrics_clientapp[number] = metrics
        return federation.largest(), metrics

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """A share of the clients, each with the model that it is served."""
        self._sent = []
        if self.fraction_evaluate == 0.0 or self._federation is None:
            return []
        federation = self._federation
        number = config[ROUND] = server_round + self._done
        request = federation.run.to_evaluate(federation.present(self._nodes_of(grid)))
        asked = len(request.clients)
        size = max(int(asked * self.fraction_evaluate), self.min_evaluate_nodes)
        drawn = stream(self._seed, "evaluation", number).permutation(asked)[:size]
        drawn.sort()
        assert request.which is not None
        request = replace(request, clients=request.clients[drawn], which=request.which[drawn])
        self._sent = federation.messages(request, config, "evaluate")
        return self._sent

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Sum up what the clients report; the round is over."""
        if self._federation is None:
            return None
        number, metrics = server_round + self._done, None
        if self._sent:
            found = self._federation.received(self._sent, replies, evaluation=True)
            nodes = [reply.node for reply in found.usable]
            metrics = found.summary(nodes, self.evaluate_metrics_aggr_fn, self.weighted_by_key)
            self._result.evaluate_metrics_clientapp[number] = metrics
        if self._saved is not None:
            self._saved.save(self._federation.run, number, self._result)
        return metrics

    def _begun(self, arrays: ArrayRecord) -> ForeignFederation:
        if not isinstance(arrays, ArrayRecord):
            raise SettingError(
                "initial_arrays",
                type(arrays).__name__,
                "must be an ArrayRecord, such as ArrayRecord(model.state_dict())",
            )
        named = {name: array.numpy() for name, array in arrays.items()}
        try:
            run: AlgorithmRun[Any] = AlgorithmRun(self._algorithm, named, seed=self._seed)
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

    def _nodes_of(self, grid: Grid) -> set[int]:
        """All nodes, once there are enough."""
        online = set(grid.get_node_ids())
        if len(online) < self.min_available_nodes:
            _log.info("waiting for %d nodes, %d are here", self.min_available_nodes, len(online))
        while len(online) < self.min_available_nodes:
            sleep(_WAIT)
            online = set(grid.get_node_ids())
        return online
