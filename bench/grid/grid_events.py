"""What happens in a grid, for whoever watches it: `cells.jsonl` in its folder.

One JSON object a line: first what the grid consists of, then every cell that begins or is over,
with what the grid ranks by. Several processes that share a folder each take the file over.
"""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagma.bench.grid.expand import GridPoint
from tagma.bench.grid.plan import MISCLUSTERING, Plan
from tagma.bench.grid.table_rows import numbers_of
from tagma.bench.local_workers import Ended
from tagma.escaping import one_line
from tagma.report.live_grid import CELLS

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class GridEvents:
    """Writes the file; told of every cell."""

    def __init__(self, plan: Plan, points: Sequence[GridPoint]) -> None:
        self._metric = str(plan.metric)
        path = Path(plan.folder) / CELLS
        path.unlink(missing_ok=True)  # another process may have it open, and keeps it
        self._file = os.fdopen(os.open(path, _OPEN, 0o666), "wb", buffering=0)
        keys = [axis.key for axis in plan.axes]
        runs = {
            cell.key for one in points for cell in (one.cell, one.reference) if cell is not None
        }
        self._write(
            "grid",
            name=plan.name, title=plan.title, metric=self._metric, runs=len(runs),
            better=plan.scores.get(self._metric, "low"),
            axes=[
                {"key": axis.key, "role": axis.role, "values": [str(v.name) for v in axis.values]}
                for axis in plan.axes
            ],
            points=[
                [point.cell.key, str(point.seed), *(str(point.values[key]) for key in keys)]
                for point in points
            ],
        )  # fmt: skip

    def __call__(self, key: str, end: Ended | None) -> None:
        """A cell begins, or is over."""
        if end is None:
            self._write("cell", key=key, state="running")
        elif end.result is None:
            state = "timed out" if end.timed_out else "failed"
            self._write("cell", key=key, state=state, reason=one_line(end.error or ""))
        else:
            numbers = numbers_of(end.result["metrics"])
            kept = {name: numbers.get(name) for name in (self._metric, MISCLUSTERING)}
            self._write("cell", key=key, state="ok", numbers=kept)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _write(self, event: str, **said: Any) -> None:
        line = json.dumps({"event": event, "at": round(time.time(), 2), **said}, default=str)
        self._file.write(line.encode() + b"\n")
