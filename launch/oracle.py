"""The error of the oracle, to compare a run with."""

from pathlib import Path
from tempfile import TemporaryDirectory

from launch.engines import inprocess
from server.folder import read_metrics, write_metrics
from tagma.settings import Settings, compose
from tasks.chosen import task_of

_INSTEAD = ["strategy=oracle", "engine=inprocess", "evaluate=false"]


def add_oracle(settings: Settings, folder: Path) -> None:
    """Run the same federation with the true clusters given; put its error into metrics.json."""
    if not settings.oracle or task_of(settings).truth() is None:
        return
    with TemporaryDirectory() as scratch:
        inprocess.run(
            compose([*settings.overrides, *_INSTEAD]), Path(scratch), observer=lambda event: None
        )
        oracle = read_metrics(Path(scratch))
    metrics = read_metrics(folder)
    metrics["oracle_error"] = oracle["estimation_error"]
    metrics["oracle_error_per_round"] = oracle["estimation_error_per_round"]
    write_metrics(folder, metrics)
