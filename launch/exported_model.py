"""The model of a cluster in a file that needs no Tagma: safetensors, TorchScript, torch.export.

A program of torch takes inputs as they are in the data, and scales them as the training did.
"""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from tagma.atomic_file import whole_file
from tagma.errors import SettingError, TagmaError
from tagma.launch.run_models import RunModels
from tagma.launch.run_task import RunTask

if TYPE_CHECKING:
    from torch import nn

_ENDINGS = (".safetensors", ".pt", ".pt2")
_EXAMPLES = 2
"""A single one would be taken for a constant."""


def write_model(path: Path, models: RunModels, cluster: int, task: Callable[[], RunTask]) -> Path:
    """Write it; the ending says how. The task is only asked for where a program is made."""
    if path.suffix not in _ENDINGS:
        raise TagmaError(f"{path}: must end in {', '.join(_ENDINGS)}")
    try:
        with whole_file(path) as partial:
            if path.suffix == ".safetensors":
                kind = "pt" if models.of_torch else "np"
                partial.write_bytes(_arrays(models.named[cluster], kind))
            else:
                _write_program(partial, path.suffix, task(), models, cluster)
    except OSError as problem:
        raise TagmaError(f"{path}: cannot be written ({problem.strerror})") from None
    return path


def _arrays(named: Mapping[str, NDArray[Any]], kind: str) -> bytes:
    arrays = {name: np.asarray(array, order="C") for name, array in named.items()}
    return save(arrays, {"format": kind})


def _write_program(path: Path, ending: str, run: RunTask, models: RunModels, cluster: int) -> None:
    models.fitting(run.layout)
    loaded = getattr(run.task, "loaded", None)
    if loaded is None:
        raise TagmaError(f"export: the task has no torch module; write {_ENDINGS[0]} instead")
    try:
        module = loaded(*models.model(cluster, run.layout))
    except SettingError as problem:
        raise TagmaError(f"export: {problem}; write {_ENDINGS[0]} instead") from None
    try:
        _save(path, ending, _with_scaling(module, run), _example(run))
    except Exception as problem:  # torch cannot do every module of a user's
        why = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise TagmaError(f"export: torch cannot write this as {ending} ({why:.300})") from None


def _save(path: Path, ending: str, module: "nn.Module", example: Any) -> None:
    import torch

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of torch, about its own future
        if ending == ".pt":
            traced = torch.jit.trace(module, example, check_trace=False)  # type: ignore[no-untyped-call]
            torch.jit.save(traced, str(path))
            return
        sizes = {"inputs": {0: torch.export.Dim("n")}}
        program = torch.export.export(module, (example,), dynamic_shapes=sizes)
        with path.open("wb") as file:
            torch.export.save(program, file)


def _example(run: RunTask) -> Any:
    import torch

    if run.preparation is not None:
        return torch.zeros((_EXAMPLES, *run.preparation.shape))
    inputs = run.task.train(0).inputs
    return torch.zeros((_EXAMPLES, *inputs.shape[1:]), dtype=torch.float32)


def _with_scaling(module: "nn.Module", run: RunTask) -> "nn.Module":
    """The module after the scaling of its inputs."""
    import torch

    known = run.preparation
    offset, scale = (0.0, 1.0) if known is None else (known.offset, known.scale)

    class Scaled(torch.nn.Module):
        offset: torch.Tensor
        scale: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("offset", torch.tensor(offset, dtype=torch.float32))
            self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))
            self.module = module

        def forward(self, inputs: torch.Tensor) -> Any:
            return self.module((inputs - self.offset) / self.scale)

    return Scaled()
