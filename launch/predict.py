"""`tagma predict`: what a cluster's model says of new examples."""

import sys
from pathlib import Path
from typing import Any, TextIO

from tagma.atomic_file import whole_file
from tagma.errors import TagmaError
from tagma.escaping import TableWriter
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import notices, say
from tagma.launch.finished_run import Run

_HELP = """What the model of a cluster says of new examples, a line of CSV each.

FOLDER is that of a finished `tagma run`. DATA is a file as the run's task reads them: a table (csv,
parquet, npz, svmlight) with the columns that the training data had, or images (a folder, IDX files,
npz); for other tasks a table or npz file of `inputs`. Inputs are scaled as in the training, classes
have the names that they had there. The training data are not needed.

Without --cluster, DATA must have targets: the examples are taken for one client's, whose cluster is
found as by `tagma assign`. A run with one model needs neither.

  tagma predict outputs/2026-11-16/12-00-00 mine.npz --cluster 0
  tagma predict outputs/2026-11-16/12-00-00 mine.npz --cluster 0 --out predictions.csv"""


def main(arguments: list[str]) -> None:
    """Predict, and write the table."""
    parser = CommandLine("predict", _HELP)
    parser.add_run_folder("of the finished run")
    parser.add_argument("data", type=Path, metavar="DATA", help="the examples")
    parser.add_argument("--cluster", type=at_least(0), metavar="K", help="whose model")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table here")
    given = parser.read(arguments)
    run = Run(given.folder, trust=given.trust)
    cluster, found = run.predicted(given.data, given.cluster)
    notices.print(f"cluster: {cluster}", highlight=False)
    if given.out is None:
        _write(sys.stdout, found)
        return
    try:
        with (
            whole_file(given.out) as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            _write(file, found)
    except OSError as problem:
        raise TagmaError(f"--out {given.out}: cannot be written ({problem.strerror})") from None
    say(f"predictions: {given.out}")


def _write(file: TextIO, found: Any) -> None:
    """A column, or one for each output of a model that has several."""
    table = TableWriter(file)
    several = found.ndim > 1
    rows = found.reshape(len(found), -1).tolist()
    names = [f"prediction_{i}" for i in range(len(rows[0]))] if several else ["prediction"]
    table.row(["example", *names])
    table.rows([number, *row] for number, row in enumerate(rows))
