"""`tagma bench scale`: how a run's time and memory grow, region by region."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from tagma.bench.reproduce.print_figures import COLOURS, figure
from tagma.bench.scale.one_run import Cost, cost_of
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices, warn

_ABOUT = """Time and peak memory of runs that grow in one direction, with slopes on log axes.

Every run is a process of its own with one thread; times are CPU times. What was measured is kept
in the folder: after an interruption the command goes on.
  tagma bench scale                                     all regions; hours, and 16 GB of memory
  tagma bench scale clients --most 10000                one region, up to a size
  tagma bench scale --folder NAME                       results elsewhere than in outputs/scale"""

_LAST = 3
"""Slopes are those of so many of the largest sizes."""


@dataclass(frozen=True)
class Region:
    """One direction: sizes, and the settings of a run of each."""

    axis: str
    sizes: tuple[int, ...]
    settings: tuple[str, ...]
    """With {n} for the size."""
    about: str

    def overrides(self, size: int) -> list[str]:
        """The settings of the run of this size."""
        return [text.format(n=size) for text in self.settings]


_FEW_ROUNDS = ("rounds=6", "evaluate=false")
_LINEAR = ("preset=tagma", "attack.fraction=0.2")
# 64 inputs and 10 classes: 75 coefficients for each hidden unit.
_DIGITS = ("task=rotated_digits", "task.samples=10", "strategy=fedavg", "optimiser=gradient")
REGIONS = {
    "clients": Region(
        "clients", (100, 1000, 3000, 10_000, 30_000, 100_000),
        ("engine=vectorised", *_LINEAR, "rounds=20", "task.clients={n}", "task.clusters=20",
         "task.dim=100", "task.samples=50"),
        "vectorised, preset=tagma, d=100, n=50, K=20, 20 % Byzantine, 20 rounds",
    ),
    "messages": Region(
        "clients", (100, 1000, 3000, 10_000),
        ("engine=inprocess", *_LINEAR, "rounds=20", "evaluate=false", "task.clients={n}",
         "task.clusters=5", "task.dim=1000", "task.samples=10"),
        "inprocess, preset=tagma, d=1,000, n=10, 20 rounds",
    ),
    "units": Region(
        "hidden units, of 75 coefficients each", (10, 133, 1333, 13_333),
        ("engine=inprocess", *_DIGITS, *_FEW_ROUNDS, "task.clients=100", "model.hidden=[{n}]"),
        "inprocess, fedavg with the trimmed mean, m=100",
    ),
    "large": Region(
        "hidden units, of 75 coefficients each", (13_333, 133_333),
        ("engine=inprocess", *_DIGITS, "rounds=2", "evaluate=false", "task.clients=50",
         "model.hidden=[{n}]"),
        "inprocess, fedavg with the trimmed mean, m=50",
    ),
    "clusters": Region(
        "clusters", (2, 10, 30, 100),
        ("engine=vectorised", *_LINEAR, *_FEW_ROUNDS, "task.clients=5000", "task.clusters={n}",
         "task.dim=100", "task.samples=200"),
        "vectorised, preset=tagma, m=5,000, d=100, n=200",
    ),
}  # fmt: skip


def main(arguments: list[str]) -> None:
    """Measure what is missing, then show everything that is there."""
    line = CommandLine("bench scale", _ABOUT)
    line.add_argument(
        "regions", nargs="*", metavar="REGION", help=f"of {', '.join(REGIONS)}; default: all"
    )
    line.add_argument("--most", type=int, default=None, help="leave out larger sizes")
    line.add_argument("--timeout", type=float, default=3600.0, help="seconds for one run")
    line.add_argument("--folder", type=Path, default=Path("outputs") / "scale")
    options = line.read(arguments)
    for name in options.regions:
        if name not in REGIONS:
            raise TagmaError(f"{name}: there is no such region; known: {', '.join(REGIONS)}")
    chosen = options.regions or list(REGIONS)
    options.folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[int, Cost]] = {}
    for name in chosen:
        sizes = [n for n in REGIONS[name].sizes if options.most is None or n <= options.most]
        found[name] = _measured(name, sizes, options.folder, options.timeout)
        if found[name]:
            console.print(_table(name, found[name]))
    draw({name: costs for name, costs in found.items() if costs}, options.folder / "scale.png")
    console.print(f"figure: {options.folder / 'scale.png'}", highlight=False)


def _measured(name: str, sizes: Sequence[int], folder: Path, timeout: float) -> dict[int, Cost]:
    costs = {}
    for size in sizes:
        path = folder / f"{name}-{size}.json"
        overrides = REGIONS[name].overrides(size)
        known = json.loads(path.read_text()) if path.exists() else {}
        if known.get("overrides") != overrides:
            notices.print(f"{name}: {size:,} ...", highlight=False)
            try:
                known = {"overrides": overrides, "cost": asdict(cost_of(overrides, timeout))}
            except TagmaError as failure:
                warn(f"{name}: {size:,}: {failure}")
                continue
            path.write_text(json.dumps(known, indent=1))
        costs[size] = Cost(**known["cost"])
    return costs


def slope(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """Of a line through the logarithms; None for fewer than two sizes."""
    known = [(n, v) for n, v in zip(sizes, values, strict=True) if v > 0]
    if len(known) < 2:
        return None
    logs = np.log(np.array(known))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def _columns(costs: dict[int, Cost]) -> dict[str, list[float]]:
    return {
        "round 1, CPU s": [cost.first for cost in costs.values()],
        "later round, CPU s": [cost.later for cost in costs.values()],
        "whole, CPU s": [cost.whole for cost in costs.values()],
        "memory, MB": [(cost.peak - cost.before) / 1e6 for cost in costs.values()],
    }


def _table(name: str, costs: dict[int, Cost]) -> Table:
    region = REGIONS[name]
    table = Table(title=f"{name}: {region.about}", title_justify="left")
    columns = _columns(costs)
    for column in (region.axis, *columns, "K found", "misclustered"):
        table.add_column(column, justify="right")
    for place, (size, cost) in enumerate(costs.items()):
        wrong = "-" if cost.misclustering is None else f"{100 * cost.misclustering:.2f} %"
        k = "-" if cost.clusters is None else str(cost.clusters)
        values = [f"{values[place]:.3g}" for values in columns.values()]
        table.add_row(f"{size:,}", *values, k, wrong)
    last = list(costs)[-_LAST:]
    slopes = [slope(last, values[-_LAST:]) for values in columns.values()]
    shown = ["-" if found is None else f"{found:.2f}" for found in slopes]
    table.add_row(f"slope of the last {len(last)}", *shown, "", "")
    return table


def draw(found: dict[str, dict[int, Cost]], path: Path) -> None:
    """CPU seconds of a later round, solid, and peak memory in GB, dashed, by size."""
    if not found:
        return
    with figure(path, width=7) as axes:
        for place, (name, costs) in enumerate(found.items()):
            colour = COLOURS[place % len(COLOURS)]
            later = [max(cost.later, 1e-4) for cost in costs.values()]
            memory = [(cost.peak - cost.before) / 1e9 for cost in costs.values()]
            axes.plot(list(costs), later, "o-", color=colour, label=f"{name}: s a round")
            axes.plot(list(costs), memory, "s--", color=colour, label=f"{name}: GB")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("size")
        axes.legend(fontsize=7)
