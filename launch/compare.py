"""`tagma compare`: the same federation three ways: not robust, the paper's algorithm, ours."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console
from tagma.launch.engines.this_process import run_here
from tagma.launch.progress_bar import ProgressBar
from tagma.launch.run import check, log_to_root
from tagma.launch.summary_table import show
from tagma.override import key_of
from tagma.server.results.run_folder import read_metrics
from tagma.server.results.score_choice import scores_of
from tagma.settings import compose
from tagma.tasks.task import true_clusters
from tagma.tasks.task_choice import task_of

_WAYS = {
    "not robust (K-means, mean)": ("clustering=kmeans", "aggregation=mean"),
    "the paper (preset=paper)": ("preset=paper",),
    "ours (preset=tagma)": ("preset=tagma",),
}
_ORACLE = {
    "oracle, nobody Byzantine": (
        "strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean",
    ),
}  # fmt: skip
_CHOSEN = (
    "clustering", "aggregation", "preset", "strategy", "engine", "evaluate", "oracle",
)  # fmt: skip
_HELP = """The same federation three ways: not robust, the paper's algorithm, and preset=tagma.

Beside them stands a federation without Byzantine clients whose clusters are known, where they are.
The column on the right is the task's first score, such as the estimation error or the accuracy. Any
setting of `tagma run` can be changed but those that make the difference.

  tagma compare
  tagma compare attack=infiltrate task.clients=50"""


def main(arguments: list[str]) -> None:
    """Run all and print one table."""
    overrides = CommandLine("compare", _HELP, overrides=True).read(arguments).overrides
    for text in overrides:
        if key_of(text).partition(".")[0] in _CHOSEN:
            raise TagmaError(f"{text}: tagma compare chooses this itself")
    log_to_root("flwr")
    task = task_of(compose(overrides))
    blind = scores_of(task, evaluated=False)  # what needs no client to measure it
    score = next(iter(blind or scores_of(task)))
    ways = _WAYS if true_clusters(task) is None else _WAYS | _ORACLE
    settings = {
        name: compose([*overrides, *own, f"evaluate={not blind}", "oracle=false"])
        for name, own in ways.items()
    }
    for way in settings.values():
        check(way)
    table = Table(title="The same federation", title_justify="left", title_style="bold")
    for column in ("", "clusters", "misclustered", score.title):
        table.add_column(column, justify="right" if column else "left")
    for name, way in settings.items():
        with TemporaryDirectory() as scratch:
            with ProgressBar(name) as progress:
                run_here(way, Path(scratch), progress.round)
            table.add_row(name, *_row(read_metrics(Path(scratch)), score.name))
    console.print(table)


def _row(metrics: dict[str, Any], score: str) -> list[str]:
    wrong = metrics["misclustering"]
    share = "-" if wrong is None else f"{100 * wrong:.1f} %"
    return [str(len(metrics["clusters"])), share, show(metrics["scores"][score]["value"])]
