"""`tagma.Run`: a finished run, as whoever works in Python has it.

Nothing but the folder is its state: whatever it knows is read from there when it is asked for.
Numbers, figures and models are plain data. Only `predict`, `assign` and `export` build the task of
the settings, and import what these name; from somebody else's folder with `trust=True` only.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from yaml import YAMLError

from tagma.arrays import Array
from tagma.errors import TagmaError
from tagma.escaping import one_line
from tagma.foreign_file import in_folder, read_yaml
from tagma.given_path import given_path
from tagma.launch.assignment import Assignment, assign
from tagma.launch.exported_model import write_model
from tagma.launch.frames import NUMBER, TEXT, WHOLE, YES, frame
from tagma.launch.left_as_found import left_as_found
from tagma.launch.run_models import RunModels, read_models
from tagma.launch.run_task import RunTask
from tagma.launch.shown_figure import Figure, as_image, figure_of
from tagma.report import run_headline
from tagma.report.folder_files import csv_rows, readable
from tagma.report.run_figures import draw_run_figures
from tagma.report.run_reading import read_run
from tagma.run_settings import settings_of_run
from tagma.server.checkpoint import can_be_resumed
from tagma.server.results.run_folder import CLUSTERS, HISTORY, METRICS, read_metrics

_REFERENCE = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,([\d.]+))?\}")
_HISTORY = {"round": WHOLE, "work": TEXT}
_COUNTS = dict.fromkeys(("used", "rejected", "bytes_down", "bytes_up"), WHOLE)
_CLIENTS = {
    "client": WHOLE, "assigned": WHOLE, "true": WHOLE, "byzantine": YES, "trimmed": YES,
    "joined": WHOLE, "quarantined": YES, "excluded": YES,
}  # fmt: skip


class Run:
    """A finished run: its numbers, tables, figures and models, and what can be done with these."""

    def __init__(self, folder: str | Path, *, trust: bool = False) -> None:
        self.folder = given_path("folder", folder)
        self._trust = trust
        _check_finished(self.folder)
        read_run(self.folder)  # what is damaged is said now

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        with readable(self.folder):
            return read_metrics(self.folder)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every setting by its key, groups as dictionaries; nothing that they name is imported."""
        try:
            values = read_yaml(in_folder(self.folder, ".hydra", "config.yaml"))
            return {str(name): _known(value, values) for name, value in values.items()}
        except (OSError, YAMLError, ValueError, TypeError, AttributeError) as problem:
            reason = " ".join(str(problem).split())
            raise TagmaError(f"{self.folder}: its settings cannot be read ({reason})") from None

    @property
    def history(self) -> Any:
        """A row for every round: a data frame, or without pandas arrays by their names."""
        return self._table(HISTORY, _HISTORY, _COUNTS)

    @property
    def clients(self) -> Any:
        """A row for every client, likewise."""
        return self._table(CLUSTERS, _CLIENTS, {})

    def _table(self, name: str, first: Mapping[str, str], counts: Mapping[str, str]) -> Any:
        with readable(self.folder):
            rows = csv_rows(self.folder / name, required=True)
            known = {**first, **counts}
            kinds = {column: known.get(column, NUMBER) for column in (rows[0] if rows else first)}
            return frame(rows, kinds)

    @cached_property
    def models(self) -> dict[int, dict[str, Any]]:
        """The model of every cluster, by its number: its arrays under their own names.

        Of images, tables and torch modules they are tensors that the module's `load_state_dict`
        takes; of other tasks NumPy arrays.
        """
        models = self._models
        if not models.of_torch:
            return {k: dict(named) for k, named in enumerate(models.named)}
        with left_as_found(own_modules=False):
            import torch

        return {
            k: {name: torch.tensor(array) for name, array in named.items()}
            for k, named in enumerate(models.named)
        }

    def predict(self, inputs: Any, *, cluster: int | None = None, targets: Any = None) -> Any:
        """What the model of a cluster says of inputs: numbers, or classes by their names.

        `inputs` are an array, a data frame, a mapping of columns, or a path of a file as the task
        reads them, not scaled: that is done as in the training. Without `cluster`, it is chosen as
        `assign` does where there are targets, here or in the data.
        """
        return self.predicted(inputs, cluster, targets)[1]

    def predicted(
        self, inputs: Any, cluster: int | None = None, targets: Any = None
    ) -> tuple[int, Any]:
        """The cluster whose model it was, and what that says."""
        with self._calling_the_task():
            if cluster is not None:
                self._models.chosen(cluster)
            self._task.check_predicts()
            found, given = self._task.examples(inputs, targets)
            if cluster is None and len(self._models) > 1 and given is not None:
                cluster = self._assign(found, given).cluster
                if cluster is None:
                    raise TagmaError("data: fit no cluster; name one to predict with all the same")
            number = self._models.chosen(cluster)
            self._models.fitting(self._task.layout)
            model = self._models.model(number, self._task.layout)
            return number, self._task.predictions(*model, found)

    def vector(self, cluster: int | None = None) -> Array:
        """The model of a cluster as one vector of its parameters."""
        return self._models.vectors[self._models.chosen(cluster)]

    def assign(self, data: Any, targets: Any = None) -> Assignment:
        """Which cluster a client with these examples belongs to."""
        with self._calling_the_task():
            return self._assign(*self._task.examples(data, targets))

    def _assign(self, inputs: Any, targets: Any) -> Assignment:
        return assign(self.folder, self._task, self._models, inputs, targets)

    def export(self, path: str | Path, *, cluster: int | None = None) -> Path:
        """Write the model of a cluster to one file, whose ending says how.

        `.safetensors`: its arrays by the module's own names. `.pt`: TorchScript; `.pt2`: a program
        of torch.export. The last two are for torch modules, and scale their inputs themselves.
        """
        with self._calling_the_task():
            number = self._models.chosen(cluster)
            return write_model(Path(path), self._models, number, lambda: self._task)

    def plot(self, name: str | None = None) -> Figure:
        """A figure of the report, the first unless one is named; a notebook shows it."""
        return figure_of(draw_run_figures(read_run(self.folder)).sheets, name)

    @contextmanager
    def _calling_the_task(self) -> Iterator[None]:
        """Settings or data of somebody may name more than there is room for."""
        with left_as_found(own_modules=self._trust):
            try:
                yield
            except MemoryError as problem:
                said = f"{self.folder}: its settings or the data do not fit into memory"
                raise TagmaError(f"{said} ({problem})") from None

    @cached_property
    def _models(self) -> RunModels:
        return read_models(self.folder)

    @cached_property
    def _task(self) -> RunTask:
        return RunTask(self.folder, settings_of_run(self.folder, trust=self._trust))

    def __repr__(self) -> str:
        try:
            return one_line(f"<Run {self.folder}: {run_headline.verdict(read_run(self.folder))}>")
        except Exception:  # the folder may be gone
            return f"<Run {self.folder}>"

    def _repr_html_(self) -> str:
        try:
            return self._html()
        except Exception:  # a notebook would show nothing at all
            return f"<pre>{escape(repr(self))}</pre>"

    def _html(self) -> str:
        run = read_run(self.folder)
        rows = "".join(
            f"<tr><th style='text-align: left'>{escape(one.name)}</th><td>{escape(one.value)}</td>"
            f"<td style='text-align: left'>{escape(one.note)}</td></tr>"
            for one in run_headline.key_figures(run)
        )
        sheets = draw_run_figures(run).sheets
        picture = as_image(figure_of(sheets, "clients").svg) if "clients" in sheets else ""
        notes = "".join(f"<p>{escape(text)}</p>" for text in run.warnings)
        return (
            f"<div><p><b>{escape(run_headline.verdict(run))}</b></p><table>{rows}</table>{notes}"
            f"{picture}<p>{escape(str(self.folder))}</p></div>"
        )


def _check_finished(folder: Path) -> None:
    if not folder.is_dir():
        raise TagmaError(f"{folder}: there is no such folder")
    if (folder / METRICS).exists():
        return
    if can_be_resumed(folder):
        raise TagmaError(f"{folder}: the run is not finished; tagma.resume goes on with it")
    if (folder / "bench.json").exists():
        raise TagmaError(f"{folder}: is the folder of a bench; tagma.benchmark gives that")
    raise TagmaError(f"{folder}: is not the folder of a finished tagma run")


def _known(value: Any, root: Mapping[str, Any], on_the_way: tuple[str, ...] = ()) -> Any:
    """A value, where it names another single one, that; nothing else is looked up."""
    if isinstance(value, dict):
        return {name: _known(own, root) for name, own in value.items()}
    if isinstance(value, list):
        return [_known(own, root) for own in value]
    named = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if named is None or value in on_the_way:
        return value
    found: Any = root
    for name in named[1].split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if found is None and named[2]:
        found = int(named[2]) if named[2].isdecimal() else float(named[2])
    if isinstance(found, dict | list):
        return value
    return _known(found, root, (*on_the_way, value))
