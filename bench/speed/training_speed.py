"""`tagma bench training`: local training of many clients at once, beside torch client by client.

Both sides take the same steps on the same examples: ours as the engine `vectorised` does, the other
as anybody would write it, a module for each client, autograd and torch's SGD. CPU time on one
thread, in turns; the medians are compared, and so are the models.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from rich.table import Table

from tagma.arrays import Array
from tagma.client.stacked_clients import StackedClients
from tagma.client.training import training_of
from tagma.errors import TagmaError
from tagma.exchange import TRAIN, Request
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices
from tagma.launch.engines.small_arrays import quick_at_small_arrays
from tagma.rng import stream
from tagma.settings import Settings, compose
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of

_ABOUT = """CPU time of local training: all clients together, and client by client with autograd.

Fails unless ours is 3 times as fast on turned digits, and 1.2 times with a perceptron of
784-200-10, where arithmetic, the same on both sides, is most of it.
  tagma bench training
  tagma bench training training.batch_size=20    any setting of `tagma run` can be changed"""

_TIMES = 5


@dataclass(frozen=True)
class _Kind:
    settings: tuple[str, ...]
    required: float


_KINDS = {
    "turned digits, 40 x 40": _Kind(("task=rotated_digits", "training.epochs=5"), 3.0),
    "784-200-10, 100 x 50": _Kind(
        (
            "task=images", "task.data={noise}", "task.clusters_by=none", "task.clients=100",
            "task.samples=50", "model.hidden=[200]", "training.epochs=1",
        ),
        1.2,
    ),
}  # fmt: skip


def main(arguments: list[str]) -> None:
    """Measure both sides of every kind and compare."""
    given = CommandLine("bench training", _ABOUT, overrides=True).read(arguments).overrides
    table = Table(title="CPU ms of local training, medians of 5", title_justify="left")
    for column in ("", "client by client", "together", "times", "apart"):
        table.add_column(column, justify="left" if not column else "right")
    slow = []
    for name, kind in _KINDS.items():
        notices.print(f"{name} ...", highlight=False)
        with TemporaryDirectory() as folder:
            own = [text.format(noise=_noise(Path(folder))) for text in kind.settings]
            settings = compose([*own, "engine=vectorised", "attack=none", *given])
            theirs, ours, apart = _side_by_side(settings)
        table.add_row(name, f"{theirs:.0f}", f"{ours:.0f}", f"{theirs / ours:.1f}", f"{apart:.1e}")
        if theirs / ours < kind.required:
            slow.append(f"{name}: only {theirs / ours:.1f} times as fast, not {kind.required:g}")
    console.print(table)
    if slow:
        raise TagmaError("; ".join(slow))


def _noise(folder: Path) -> Path:
    """Random pictures of MNIST's size: what a step costs does not depend on what is on them."""
    random, file = np.random.default_rng(0), folder / "noise.npz"
    pictures = random.integers(0, 256, (6250, 28, 28), dtype=np.uint8)
    np.savez(file, inputs=pictures, targets=np.arange(6250) % 10)
    return file


def _side_by_side(settings: Settings) -> tuple[float, float, float]:
    """CPU milliseconds of both sides, and the largest difference of their models."""
    task = task_of(settings)
    start = layout_of(task).vector(task.initial())
    clients = np.arange(task.clients)
    stacked = StackedClients(settings)
    request = Request(TRAIN, clients, start[None], np.zeros_like(clients))
    sides: list[Callable[[], Array]] = [
        _by_torch(settings, start),
        lambda: stacked.answer(1, request, lambda row: {}).replies.vectors,
    ]
    with quick_at_small_arrays(1):
        theirs, ours = (side() for side in sides)  # what happens once is not measured
        spent = [[_milliseconds(side) for side in sides] for _ in range(_TIMES)]
    slow, fast = (median(column) for column in zip(*spent, strict=True))
    return slow, fast, float(np.abs(theirs - ours).max())


def _by_torch(settings: Settings, start: Array) -> Callable[[], Array]:
    """Every client's training by a module of its own."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    task, training = task_of(settings), training_of(settings)
    layout = layout_of(task)
    layers: list[nn.Module] = []
    for weights in layout.parameters[::2]:
        outputs, inputs = weights.shape
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    module = nn.Sequential(*layers[:-1])
    first = {name: torch.from_numpy(array) for name, array in layout.named(start, {}).items()}
    data = [task.train(client) for client in range(task.clients)]
    tensors = [(torch.from_numpy(d.inputs), torch.from_numpy(d.targets)) for d in data]

    def train(client: int) -> Array:
        module.load_state_dict(first)
        first_rate = training.first_rate(task, data[client])
        optimiser = torch.optim.SGD(module.parameters(), lr=first_rate)
        inputs, targets = tensors[client]
        random = stream(settings.seed, "training", client, 1)
        for epoch, rows in training.orders(len(targets), random):
            for group in optimiser.param_groups:
                group["lr"] = training.rate(epoch, first_rate)
            chosen = slice(None) if rows is None else torch.from_numpy(rows)
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(module(inputs[chosen]), targets[chosen])
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        return layout.vector({n: t.numpy() for n, t in module.state_dict().items()})

    return lambda: np.array([train(client) for client in range(task.clients)])


def _milliseconds(side: Callable[[], Array]) -> float:
    start = time.process_time()
    side()
    return 1000 * (time.process_time() - start)
