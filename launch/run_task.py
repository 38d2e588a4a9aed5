"""The task of a finished run, for examples that were not in it.

Where the run left how raw inputs become what models take (`inputs.json`), the training data are not
needed, and may be gone.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.errors import TagmaError
from tagma.foreign_file import read_json
from tagma.layout import Layout, Named
from tagma.plugins import TARGET, build, locate
from tagma.server.results.run_folder import INPUTS
from tagma.settings import Settings
from tagma.tasks.data.new_examples import RawExamples, as_array, check_examples, read_examples
from tagma.tasks.data.preparation import Preparation, class_numbers, of_another_shape
from tagma.tasks.models.model_choice import model_maker
from tagma.tasks.supervised import Supervised
from tagma.tasks.task import Data, Task, WithBuffers, WithScaling, layout_of
from tagma.tasks.task_choice import task_of


class RunTask:
    """What a run learned, and how new examples are read for it."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        if settings.device == "cuda":  # there may be none here
            settings = settings.model_copy(update={"device": "auto"})
        self.settings = settings
        self.preparation = _preparation(folder, settings)
        self.task: Task = (
            task_of(settings) if self.preparation is None else _apart(settings, self.preparation)
        )

    @property
    def layout(self) -> Layout:
        """How its models' arrays are one vector."""
        return layout_of(self.task)

    def examples(self, given: Any, targets: Any = None) -> tuple[NDArray[Any], Any]:
        """Inputs as models take them, and targets, None where there are none.

        `given` is a path, a data frame or a mapping, or an array of inputs.
        """
        raw = read_examples(given, self.preparation)
        name = str(given) if isinstance(given, str | Path) else "data"
        if targets is not None:
            raw = replace(raw, targets=as_array(targets))
            check_examples(name, raw)
        try:
            return self._prepared(raw)
        except (ValueError, TagmaError) as problem:
            raise TagmaError(f"{name}: {problem}") from None

    def _prepared(self, raw: RawExamples) -> tuple[NDArray[Any], Any]:
        known = self.preparation
        if known is None:
            return self._like_those_of_the_task(raw)
        assert isinstance(self.task, Supervised)
        inputs = self.task.as_inputs(known.prepared(raw.inputs))
        if raw.targets is None:
            return inputs, None
        if known.kind == "classification":
            return inputs, class_numbers(raw.targets, known.classes)
        return inputs, _numbers(raw.targets)

    def _like_those_of_the_task(self, raw: RawExamples) -> tuple[NDArray[Any], Any]:
        """The shape and kind of what its clients hold."""
        one = self.task.train(0)
        if raw.inputs.shape[1:] != one.inputs.shape[1:]:
            raise ValueError(of_another_shape(raw.inputs.shape[1:], one.inputs.shape[1:]))
        inputs = raw.inputs.astype(one.inputs.dtype)
        if isinstance(self.task, WithScaling):
            inputs = self.task.prepared(inputs)
        if raw.targets is None:
            return inputs, None
        targets = _numbers(raw.targets)
        if one.targets.dtype.kind in "iu" and (targets != np.trunc(targets)).any():
            raise ValueError("targets must be numbers of classes")
        return inputs, targets.astype(one.targets.dtype)

    def check_predicts(self) -> None:
        """An error if the task's models say nothing of inputs."""
        if not hasattr(self.task, "predict"):
            raise TagmaError("task: its models predict nothing: it has no `predict`")

    def predictions(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> NDArray[Any]:
        """What a model says of inputs: names of classes, or numbers."""
        self.check_predicts()
        with of_the_task("predict"):
            outputs = np.asarray(self.task.predict(model, buffers, inputs))  # type: ignore[attr-defined]
        if self.preparation is not None and self.preparation.kind == "classification":
            names: NDArray[Any] = self.preparation.names[outputs.argmax(axis=1)]
            return names
        if "accuracy" in self.task.metrics and outputs.ndim == 2:
            classes: NDArray[Any] = outputs.argmax(axis=1)
            return classes
        return outputs

    def loss(self, model: Array, buffers: Named, data: Data) -> float:
        """The mean loss."""
        with of_the_task("loss"):
            if buffers and isinstance(self.task, WithBuffers):
                return float(self.task.evaluate_with(model, buffers, data)["loss"])
            return self.task.loss(model, data)


@contextmanager
def of_the_task(what: str) -> Iterator[None]:
    """Whatever goes wrong within code that may be the user's is one line."""
    try:
        yield
    except TagmaError:
        raise
    except Exception as problem:
        first = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise TagmaError(f"task: {what} fails on these data ({first:.300})") from None


def _numbers(targets: NDArray[Any]) -> NDArray[Any]:
    if targets.dtype.kind not in "biuf":
        raise ValueError(f"targets must be real numbers, not text such as {str(targets[0])!r:.40}")
    return targets.astype(np.float64)


def _preparation(folder: Path, settings: Settings) -> Preparation | None:
    """What the run left; None for tasks that leave nothing."""
    kind = locate(str(settings.choice("task").get(TARGET, "")), f"task.{TARGET}")
    if not (inspect.isclass(kind) and issubclass(kind, Supervised)):
        return None
    try:
        return Preparation.from_described(read_json(folder / INPUTS))
    except FileNotFoundError:
        raise TagmaError(
            f"{folder}: has no {INPUTS}, which says how inputs are scaled; run it again"
        ) from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as problem:
        raise TagmaError(f"{folder / INPUTS}: cannot be read ({problem})") from None


def _apart(settings: Settings, known: Preparation) -> Supervised:
    """The task without its data."""
    group = settings.choice("task")
    single = len(known.shape) == 1
    instead = {
        "data": None, "dataset": None, "partitioner": None, "scaling": "none", "server_samples": 0,
        "classes": list(known.classes) or None, "clients": group.get("clients") or 1,
        "inputs": known.shape[0] if single else list(known.shape),
        "features": None if known.features is None else list(known.features),
    }  # fmt: skip
    values = {**group, **{name: value for name, value in instead.items() if name in group}}
    task: Supervised = build(
        "task", values,
        seed=settings.seed, device=settings.device, model=model_maker(settings),
    )  # fmt: skip
    return task
