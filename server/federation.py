"""One whole run on the server's side: wait for the nodes, play the rounds, write results."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from flwr.serverapp import Grid

from tagma.attacks.adversary import adversary_of
from tagma.attacks.attacked_grid import AttackedGrid
from tagma.errors import FederationError
from tagma.server.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint
from tagma.server.folder_lock import only_writer
from tagma.server.rehearsal import rehearsal_of
from tagma.server.results.events import Observer, RoundFinished
from tagma.server.results.metrics import summarise
from tagma.server.results.recorder import Recorder
from tagma.server.results.run_folder import History, write_clusters, write_metrics
from tagma.server.rounds import evaluate, play
from tagma.server.wiring import algorithm_of, tolerance_of
from tagma.settings import Settings
from tagma.strategies.flower import ThreeStage
from tagma.tasks.task_choice import task_of

_log = logging.getLogger("tagma")


def run_federation(
    grid: Grid,
    settings: Settings,
    folder: Path,
    observers: Sequence[Observer],
    engine: str = "inprocess",
) -> None:
    """Run all rounds on a grid and leave the results in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder):
        _run_all(grid, settings, folder, observers, engine)


def _run_all(
    grid: Grid, settings: Settings, folder: Path, observers: Sequence[Observer], engine: str
) -> None:
    task, adversary = task_of(settings), adversary_of(settings)
    algorithm = algorithm_of(settings)
    rounds = settings.rounds + 1
    truth = task.truth()
    told: list[Observer] = []
    recorder = Recorder(rounds, truth, adversary.byzantine, told, tolerance=tolerance_of(settings))
    state = None
    if settings.resume:
        checkpoint = load_checkpoint(folder)
        checkpoint.check(dim=task.dim, rounds=settings.rounds)
        checkpoint.restore(recorder)
        state = checkpoint.state
    told += [History(folder, recorder.events), *observers]
    if settings.checkpoint_every:
        told.append(_saver(settings, folder, recorder))
    strategy = ThreeStage(
        algorithm,
        dim=task.dim,
        min_replies=settings.min_replies,
        on_round=recorder.observe_round,
        state=state,
    )
    if adversary.colludes:
        grid = AttackedGrid(
            grid,
            adversary,
            groups=None if truth is None else truth.labels,
            sound=strategy.sound,
            rehearsal=rehearsal_of(algorithm, lambda: strategy.state, truth, adversary.byzantine),
            seed=settings.seed,
        )
    _wait_for_nodes(grid, task.clients, settings.start_timeout)
    first = len(recorder.events) + 1
    play(
        strategy,
        grid,
        first=first,
        last=rounds,
        timeout=settings.round_timeout,
        patience=settings.start_timeout,
    )
    if settings.evaluate:
        recorder.observe_evaluation(
            *evaluate(strategy, grid, after=rounds, timeout=settings.round_timeout)
        )
    write_clusters(folder, recorder)
    write_metrics(folder, summarise(settings, recorder, strategy.losses, engine))
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _saver(settings: Settings, folder: Path, recorder: Recorder) -> Observer:
    """An observer that writes a checkpoint after every so many rounds.

    Not after the last: it is played again rather than remembered, whatever its replies tell.
    """

    def save(event: RoundFinished) -> None:
        if event.round % settings.checkpoint_every == 0 and event.round < event.rounds:
            save_checkpoint(folder, settings.overrides, recorder)

    return save


def _wait_for_nodes(grid: Grid, expected: int, seconds: float) -> None:
    """Wait until all clients are there; after the time limit, begin with those that are."""
    deadline = time.monotonic() + seconds
    pause = 0.05
    while (present := len(list(grid.get_node_ids()))) < expected:
        if time.monotonic() >= deadline:
            if not present:
                raise FederationError(f"no client connected within start_timeout={seconds}")
            _log.warning("beginning with %d of %d clients", present, expected)
            return
        if pause == 1.0:
            _log.info("waiting for clients: %d of %d are there", present, expected)
        time.sleep(pause)
        pause = min(2 * pause, 1.0)
