"""`tagma run`: compose, check, run on an engine, and show what came out."""

import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from tagma.attacks.adversary import adversary_of
from tagma.attacks.dry_run import try_attacks
from tagma.choices import CONF
from tagma.client.solvers.solver_choice import solver_of
from tagma.client.training import training_of
from tagma.environment import environment
from tagma.errors import TagmaError
from tagma.escaping import one_line
from tagma.launch.command_line import run_arguments
from tagma.launch.console import say, warn
from tagma.launch.multirun_summary import EndedRun, show_summary
from tagma.launch.oracle_run import with_oracle
from tagma.launch.progress_bar import Progress, ProgressBar
from tagma.launch.summary_table import print_summary
from tagma.launch.sweep_folder import SWEEP, Refused
from tagma.launch.tracking.tracker import tracked
from tagma.launch.watch.watch_command import live_page
from tagma.override import with_new_settings
from tagma.plugins import build
from tagma.report import write_run_report
from tagma.report.run_headline import verdict
from tagma.report.run_reading import read_run
from tagma.run_log import opened_log
from tagma.server.checkpoint import can_be_resumed, remove_checkpoints
from tagma.server.folder_lock import claimed
from tagma.server.results.events import both
from tagma.server.results.run_folder import (
    LOG,
    METRICS,
    REPORT,
    read_metrics,
    remove_results,
    write_metrics,
)
from tagma.server.results.settings_files import write_hydras
from tagma.server.wiring import absence_of, algorithm_of, lets_choose, warnings_of, works_of
from tagma.settings import Settings, compose, explain_outside, with_fitting_preset
from tagma.tasks.task_choice import task_of

_HELP = """tagma run [overrides]: one federation, from local models to a report.

Settings are Hydra overrides, group=choice or group.setting=value:
  tagma run                                          the paper's setting, 30 % Byzantine clients
  tagma run attack=sign_flip attack.fraction=0.2     another attack, fewer Byzantine clients
  tagma run clustering=kmeans aggregation=mean       no protection
  tagma run engine=ray task.clients=20 rounds=5      clients in several processes
  tagma run hydra.run.dir=my_results                 choose the output folder
  tagma run -m seed=0,1,2                            several runs (Hydra's multirun), and a
                                                     table of their means and intervals

`tagma list` shows every choice; `tagma run --cfg job` every setting and its value.
The run folder has metrics.json, history.csv, clusters.csv, models.safetensors and report.html."""


def main(arguments: list[str]) -> None:
    """Check the settings, then hand over to Hydra, which makes the folder and calls back."""
    if "--help" in arguments or "-h" in arguments:
        say(_HELP)
        return
    arguments = run_arguments(arguments)
    if not any(argument.startswith("-") for argument in arguments):
        check(compose(arguments))
    sys.argv = ["tagma run", *with_new_settings(with_fitting_preset(arguments))]
    runs: list[EndedRun] = []
    several: list[Path] = []

    def job(config: DictConfig) -> None:
        about = HydraConfig.get()
        if about.mode is RunMode.MULTIRUN:
            several[:] = [Path(about.sweep.dir).absolute()]
        ended = partial(EndedRun, tuple(about.overrides.task), Path(about.runtime.output_dir))
        # Hydra would report an exception in its own way, with a traceback, and end the other runs.
        try:
            runs.append(ended(_job(config)))
        except Exception as failure:
            runs.append(ended(None, failure))

    try:
        # Or Hydra would print its exceptions instead of letting them through.
        with environment({"HYDRA_FULL_ERROR": "1"}):
            hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(job)()
    except Refused as refused:
        raise refused.why from None
    except HydraException as error:
        overrides = [text for text in arguments if not text.startswith("-")]
        raise explain_outside(error, overrides) from None
    except OSError as error:
        raise TagmaError(
            f"hydra.run.dir={error.filename}: cannot be made ({error.strerror})"
        ) from None
    finally:
        with SWEEP:
            if any(run.metrics is not None for run in runs):  # also before an interruption
                for folder in several:
                    show_summary(runs, folder)
    failed = {run.folder: run.failure for run in runs if run.failure is not None}
    if failed and len(failed) == len(runs):
        raise next(iter(failed.values()))
    for folder, why in failed.items():
        warn(f"{folder}: {why}")
    if failed:
        raise TagmaError(f"{len(failed)} of {len(runs)} runs failed; the others are whole")


def check(settings: Settings) -> None:
    """Build every part once, so that mistakes are found before anything is written."""
    adversary_of(settings)  # first: a task may depend on the share of Byzantine clients
    algorithm = algorithm_of(settings)
    absence_of(settings)
    solver_of(settings)
    training_of(settings)
    choosing = lets_choose(settings, algorithm)
    try_attacks(settings, *works_of(settings, algorithm), choosing=choosing)
    build("engine", settings.choice("engine"), clients=task_of(settings).clients)
    build("tracking", settings.choice("tracking"))


def _job(config: DictConfig) -> dict[str, Any]:
    given = HydraConfig.get().overrides
    # Clients compose for themselves, so they must look for the user's choices where Hydra did.
    places = [text for text in given.hydra if text.startswith("hydra.searchpath=")]
    settings = compose([*given.task, *places])
    check(settings)
    if settings.resume:
        raise TagmaError("resume=true: use `tagma resume FOLDER`")
    folder = Path(settings.output or HydraConfig.get().runtime.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with claimed(folder):
        opened_log(folder / LOG).close()
        write_hydras(folder, config, HydraConfig.instance().cfg)
        run_and_show(settings, folder)
        return read_metrics(folder)


def run_and_show(settings: Settings, folder: Path) -> None:
    """Run in a folder that is claimed, then print the table.

    If the run breaks off, how to go on with it is said.
    """
    log_to_root("flwr")
    if not settings.resume and holds_a_run(folder):
        warn(f"{folder}: the results of an earlier run there are replaced")
    try:
        run(settings, folder)
    except BaseException:
        if can_be_resumed(folder) or lacks_report(folder):
            resume = os.environ.get("TAGMA_RESUME", "tagma resume")
            warn(f"the run broke off; go on from its last round with: {resume} {folder}")
        raise
    print_summary(read_metrics(folder))
    say(one_line(verdict(read_run(folder))))
    say(f"report: {folder / 'report.html'}")


def run(
    settings: Settings,
    folder: Path,
    *,
    notify: Callable[[str], None] = warn,
    progress: Progress | None = None,
) -> None:
    """Run one federation on its engine; the folder, which is claimed, has the whole result then.

    `notify` is told what the user should know, `progress` is shown every round. A run that is
    resumed when all rounds were over is given what comes after them.
    """
    before = warnings_of(settings)
    for warning in before:
        notify(warning)
    if settings.resume and not can_be_resumed(folder):
        conclude(settings, folder)
        return
    if not settings.resume:  # else the server does, when it has read the checkpoint
        remove_checkpoints(folder)
        remove_results(folder)
    engine = build("engine", settings.choice("engine"), clients=task_of(settings).clients)
    tracker = build("tracking", settings.choice("tracking"))
    with tracked(tracker, settings, folder) as tracking:
        with live_page(folder, shown=settings.live):
            with progress or ProgressBar("rounds") as shown:
                engine(settings, folder, both(shown.round, tracking.round))
            metrics = conclude(settings, folder)
        tracking.end(metrics)
    for warning in metrics["warnings"]:
        if warning not in before:
            notify(warning)


def conclude(settings: Settings, folder: Path) -> dict[str, Any]:
    """What comes after the rounds: the oracle, and the report; the metrics."""
    before = read_metrics(folder)
    metrics = with_oracle(settings, before)
    if metrics != before:
        write_metrics(folder, metrics)
    remove_checkpoints(folder)  # what there may be left of one
    write_run_report(folder)
    return metrics


def lacks_report(folder: Path) -> bool:
    """Whether all rounds are over, and what comes after them is not."""
    return (folder / METRICS).exists() and not (folder / REPORT).exists()


def holds_a_run(folder: Path) -> bool:
    """Whether results are there, or a run that can be gone on with."""
    return (folder / METRICS).exists() or can_be_resumed(folder)


def log_to_root(name: str) -> None:
    """Flower logs to the terminal by itself; let it log to the run's file instead."""
    logger = logging.getLogger(name)
    logger.handlers.clear()
    logger.propagate = True
