"""`tagma bench byzfl`: cells of one global model, ours and byzfl's.

The cells are of the grid `byzfl_style`. On byzfl's side its own `Client`, `Server` and
`ByzantineClient` do what its benchmark does in every step, on the same data with the same step
size. Its benchmark as a whole cannot run here: it loads images through torchvision, which Tagma
does without. So byzfl neither loads data nor evaluates while the clock runs; ours clusters, scores
every round, evaluates and writes its results. It runs on arrays, as cells do, and like all cells of
one seed these share the data; `engine=inprocess` runs them with messages.
"""

import time
from collections.abc import Callable
from itertools import chain, product
from statistics import median
from typing import Any

import torch
from rich.table import Table
from threadpoolctl import threadpool_limits
from torch.utils.data import DataLoader, TensorDataset

from tagma.bench.grid.expand import GridPoint, expand
from tagma.bench.grid.plan import read_plan
from tagma.bench.speed.byzfl_import import byzfl_module
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of

_ABOUT = """CPU time per cell of the grid byzfl_style, ours and theirs.

Needs byzfl, anywhere on PYTHONPATH: pip install --no-deps --target FOLDER byzfl==0.0.11
  tagma bench byzfl
  tagma bench byzfl rounds=20 task.clients=50"""

_ATTACKS: dict[str, tuple[str, dict[str, float]]] = {
    "sign_flip": ("SignFlipping", {}),
    "alie": ("ALittleIsEnough", {"tau": 1.5}),
    "ipm": ("InnerProductManipulation", {"tau": 5.0}),
}
_AGGREGATORS = {
    "average": "Average",
    "median": "Median",
    "trimmed mean": "TrMean",
    "geometric median": "GeometricMedian",
    "Krum": "Krum",
    "multi-Krum": "MultiKrum",
    "centred clipping": "CenteredClipping",
    "MoNNA": "MoNNA",
    "Meamed": "Meamed",
    "CAF": "CAF",
}
"""All but MDA and SMEA, with which byzfl tries every subset."""
_FRACTION = 0.2


def main(arguments: list[str]) -> None:
    """Run the same cells on both sides, in turns, and compare."""
    given = CommandLine("bench byzfl", _ABOUT, overrides=True).read(arguments).overrides
    try:
        byzfl = byzfl_module()
    except ImportError as error:
        raise TagmaError(f"no byzfl ({error}); see tagma bench byzfl --help") from None
    chosen = [f"attack=[{','.join(_ATTACKS)}]", f"defence=[{','.join(_AGGREGATORS)}]"]
    options = [*chosen, f"attack.fraction={_FRACTION}", "seeds=1", *given]
    points = {
        (point.values["attack"], point.values["defence"]): point
        for point in expand(read_plan("byzfl_style", options))
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in _ATTACKS}
    torch.set_num_threads(1)
    with threadpool_limits(1):
        _beside(byzfl, next(iter(points.values())))  # what happens once is not measured
        for attack, defence in product(_ATTACKS, _AGGREGATORS):
            notices.print(f"{attack} against {defence} ...", highlight=False)
            spent[attack].append(_beside(byzfl, points[attack, defence]))
    table = Table(title="CPU seconds per cell, medians over aggregators", title_justify="left")
    for column in ("attack", "byzfl", "tagma", "byzfl / tagma"):
        table.add_column(column, justify="left" if column == "attack" else "right")
    for name, pairs in [*spent.items(), ("all", list(chain(*spent.values())))]:
        theirs, ours = (median(column) for column in zip(*pairs, strict=True))
        ratio = median(a / b for a, b in pairs)
        table.add_row(name, f"{theirs:.3f}", f"{ours:.3f}", f"{ratio:.1f}")
    console.print(table)


def _beside(byzfl: Any, point: GridPoint) -> tuple[float, float]:
    """The CPU seconds of one cell, theirs and ours."""
    return _seconds(_prepared(byzfl, point)), _seconds(point.cell.run)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _prepared(byzfl: Any, point: GridPoint) -> Callable[[], None]:
    """Byzfl's loop on the data of a cell, which are made here, before the clock starts."""
    settings = point.cell.settings
    task = task_of(settings)
    byzantine = round(_FRACTION * task.clients)
    byzfl.fed_framework.models.linear = lambda: torch.nn.Linear(layout_of(task).size, 1, bias=False)
    loaders = []
    for client in range(task.clients - byzantine):
        data = task.train(client)
        arrays = (data.inputs, data.targets[:, None])
        examples = TensorDataset(*(torch.tensor(array, dtype=torch.float32) for array in arrays))
        loaders.append(DataLoader(examples, batch_size=len(data)))
    shared = {
        "model_name": "linear", "device": "cpu", "optimizer_name": "SGD", "weight_decay": 0.0,
        "learning_rate": float(settings.choice("optimiser")["step"]), "milestones": [],
        "learning_rate_decay": 1.0,
    }  # fmt: skip
    local = {
        "loss_name": "MSELoss", "LabelFlipping": False, "nb_labels": 2, "momentum": 0.0,
        "store_per_client_metrics": False,
    }  # fmt: skip
    aggregator = {
        "name": _AGGREGATORS[str(point.values["defence"])],
        "parameters": {"f": byzantine},
    }
    central = {"test_loader": loaders[0], "aggregator_info": aggregator, "pre_agg_list": []}
    name, parameters = _ATTACKS[str(point.values["attack"])]
    known = {"aggregator_info": aggregator, "pre_agg_list": [], "f": byzantine}
    attack = {"name": name, "f": byzantine, "parameters": parameters | known}

    def loop() -> None:
        clients = [
            byzfl.Client(shared | local | {"training_dataloader": loader}) for loader in loaders
        ]
        server, byzantine_client = byzfl.Server(shared | central), byzfl.ByzantineClient(attack)
        for _ in range(settings.rounds):
            state = server.get_dict_parameters()
            for client in clients:
                client.set_model_state(state)
                client.compute_gradients()
            honest = [client.get_flat_gradients_with_momentum() for client in clients]
            server.update_model_with_gradients(honest + byzantine_client.apply_attack(honest))

    return loop
