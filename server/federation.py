"""One whole run on the server's side: wait for the nodes, play the rounds, write results."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from flwr.serverapp import Grid

from tagma.arrays import Array
from tagma.attacks.adversary import adversary_of
from tagma.attacks.collusion import Collusion
from tagma.errors import FederationError
from tagma.server.checkpoint import (
    Checkpoint,
    CheckpointWriter,
    can_be_resumed,
    load_checkpoint,
    remove_checkpoints,
)
from tagma.server.folder_lock import only_writer
from tagma.server.honest_program import honest_program_of
from tagma.server.own_data import own_data_of
from tagma.server.rehearsal import rehearsal_of
from tagma.server.results.events import Observer
from tagma.server.results.metrics import summarise
from tagma.server.results.recorder import Recorder
from tagma.server.results.run_events import RunEvents, kept_lines
from tagma.server.results.run_folder import (
    History,
    remove_results,
    write_clusters,
    write_inputs,
    write_metrics,
    write_models,
)
from tagma.server.results.score_choice import scores_of_run
from tagma.server.rounds import RoundsPlan, play
from tagma.server.run_identity import identity_of
from tagma.server.wiring import absence_of, algorithm_of
from tagma.settings import Settings
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.flower import AlgorithmStrategy
from tagma.strategies.quorum import TooFewAnswers
from tagma.strategies.round_outcome import Round
from tagma.tasks.task import layout_of, true_clusters
from tagma.tasks.task_choice import task_of

_log = logging.getLogger("tagma")
Run = TypeVar("Run", bound=AlgorithmRun[Any])


def run_federation(
    grid: Grid,
    settings: Settings,
    folder: Path,
    observers: Sequence[Observer],
    engine: str = "inprocess",
) -> None:
    """Run all rounds on a grid and leave the results in the folder."""

    def on_grid(strategy: "AlgorithmStrategy[Any]", plan: RoundsPlan) -> None:
        clients, patience = task_of(settings).clients, settings.start_timeout
        _wait_for_nodes(grid, clients, patience, plan.on_waiting)
        timeout = settings.round_timeout
        # In one process nobody comes later who is not there now.
        longest = 0.0 if getattr(grid, "immediate", False) else settings.quorum_timeout
        play(strategy, grid, plan, timeout=timeout, patience=patience, quorum_timeout=longest)

    conduct(settings, folder, observers, engine, AlgorithmStrategy, on_grid)


def conduct(
    settings: Settings,
    folder: Path,
    observers: Sequence[Observer],
    engine: str,
    kind: type[Run],
    play_all: Callable[[Run, RoundsPlan], None],
) -> None:
    """Run all rounds in whichever way an engine plays them, and leave the results."""
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder):
        task, adversary = task_of(settings), adversary_of(settings)
        layout, truth, scores = layout_of(task), task.truth(), scores_of_run(settings)
        clusters = true_clusters(task)
        absence = absence_of(settings)
        algorithm = algorithm_of(settings)
        resumable = getattr(algorithm, "resumable", True)
        if settings.resume and not resumable:
            raise FederationError("strategy: a run by a Strategy of Flower's cannot be resumed")
        strategy = kind(
            algorithm,
            task.initial(),
            layout=layout,
            min_replies=settings.min_replies,
            quorum=settings.quorum,
            sampling=settings.sampling.fraction,
            seed=settings.seed,
            own_data=own_data_of(settings),
            away=partial(absence.away, count=task.clients, seed=settings.seed),
            choose=settings.personalise.choose,
        )
        rounds = settings.rounds + 1
        listening: list[Observer] = []
        recorder = Recorder(rounds, truth, adversary.byzantine, scores, listening)
        checkpoint = None
        attack_memory: dict[int, Array] = {}
        if settings.resume:
            checkpoint = load_checkpoint(folder, partial(_restore, settings, strategy, recorder))
            checkpoint.check(rounds=settings.rounds)
            attack_memory |= checkpoint.attack_memory
            if checkpoint.warning:
                _log.warning(checkpoint.warning)
        else:
            remove_checkpoints(folder)
        collusion = None
        if adversary.colludes:
            collusion = Collusion(
                adversary,
                groups=None if clusters is None else clusters.labels,
                rehearsal=rehearsal_of(strategy, truth, adversary.byzantine),
                program=honest_program_of(strategy, settings),
                seed=settings.seed,
                memory=attack_memory,
            )
        plan = RoundsPlan(
            first=len(recorder.events) + 1,
            last=rounds,
            evaluates=_evaluates(settings, blind=truth is None or truth.centres is None),
            on_round=partial(_end_round, recorder, settings.pause),
            collusion=collusion,
        )
        before = kept_lines(folder, len(recorder.events)) if recorder.events else []
        remove_results(folder)  # not before the checkpoint was found to be good
        with ExitStack() as files:
            events = RunEvents(
                folder, settings, recorder, strategy,
                engine=engine, clients=task.clients, before=before,
            )  # fmt: skip
            files.enter_context(closing(events))
            listening.append(files.enter_context(closing(History(folder, scores, recorder.events))))
            listening += observers
            if settings.checkpoint_every and resumable:
                writer = CheckpointWriter(
                    folder, settings, recorder, strategy,
                    after=checkpoint, attack_memory=attack_memory,
                )  # fmt: skip
                listening.append(files.enter_context(closing(writer)))
            listening.append(events)
            try:
                play_all(strategy, replace(plan, on_waiting=events.waiting))
            except BaseException as problem:
                events.broke(problem)
                if isinstance(problem, TooFewAnswers):
                    raise FederationError(f"{problem}; {_how_to_go_on(folder)}") from None
                raise
        found = strategy.algorithm.findings(strategy.state)
        known = found if isinstance(found, Clustered) else None
        drawn = events.picture(known)
        write_clusters(folder, recorder, known, drawn)
        write_models(folder, strategy.outcome.models, known, drawn, task, strategy.buffers)
        write_inputs(folder, task)
        write_metrics(folder, summarise(settings, recorder, known, engine))
        remove_checkpoints(folder)


def _end_round(recorder: Recorder, pause: float, outcome: Round) -> None:
    recorder.observe_round(outcome)
    if pause and outcome.number < recorder.rounds:
        time.sleep(pause)


def _how_to_go_on(folder: Path) -> str:
    if can_be_resumed(folder):
        return f"the run goes on from its last round with: tagma resume {folder}"
    return "there is no checkpoint to go on from"


def _restore(
    settings: Settings, strategy: AlgorithmRun[Any], recorder: Recorder, found: Checkpoint
) -> None:
    found.is_of(identity_of(settings))
    found.restore(strategy, recorder)


def _evaluates(settings: Settings, *, blind: bool) -> Callable[[int], bool]:
    """After which rounds clients try their models: the last, and those that the settings name.

    Where the true models are not known, what clients measure is all there is to see of a run: then
    every round, unless the settings say otherwise.
    """
    every = settings.evaluate_every
    if every is None:
        every = 1 if blind else 0

    def evaluates(number: int) -> bool:
        last = number == settings.rounds + 1
        return settings.evaluate and (last or (every > 0 and number % every == 0))

    return evaluates


def _wait_for_nodes(
    grid: Grid, expected: int, seconds: float, tell: Callable[[int, int], None]
) -> None:
    """Wait until all clients are there; after the time limit, begin with those that are."""
    deadline = time.monotonic() + seconds
    pause, before = 0.05, None
    while (present := len(list(grid.get_node_ids()))) < expected:
        if present != before:
            tell(present, expected)
            before = present
        if time.monotonic() >= deadline:
            if not present:
                raise FederationError(f"no client connected within start_timeout={seconds}")
            _log.warning("beginning with %d of %d clients", present, expected)
            return
        if pause == 1.0:
            _log.info("waiting for clients: %d of %d are there", present, expected)
        time.sleep(pause)
        pause = min(2 * pause, 1.0)
