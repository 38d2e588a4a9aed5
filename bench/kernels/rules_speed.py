"""`tagma bench rules`: what the rules of `tagma.rules` take on tensors and on state_dicts.

A tensor is compared with the array of the same numbers, and a list of state_dicts with a list of
dictionaries of arrays, which is put together as the other is. CPU time on one thread, in turns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from rich.table import Table

from tagma import rules
from tagma.arrays import Array
from tagma.bench.kernels.kernels_timing import compare, one_thread
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, notices

MOST = 1.10
"""In times of what the same rule takes on arrays."""
RULES: Mapping[str, Mapping[str, Any]] = {
    "mean": {}, "median": {}, "trimmed_mean": {"beta": 0.2}, "krum": {"fraction": 0.2},
    "multi_krum": {"fraction": 0.2}, "geometric_median": {}, "nnm": {"fraction": 0.2},
}  # fmt: skip
"""Of each kind one, with its settings: what comes before and after the rule is the same for all."""
_ABOUT = f"""CPU time of tagma.rules on torch tensors and state_dicts, in times of that on arrays.

  tagma bench rules                    100 models of a million parameters
  tagma bench rules mean median --columns 10000

Fails where one takes more than {MOST:.2f} times as long. Rules: {", ".join(RULES)}."""
_PARTS = 8
"""Entries of a state_dict."""


@dataclass(frozen=True)
class Ratio:
    """How long a rule takes on a kind of torch's, in times of the same kind of NumPy's."""

    rule: str
    kind: str
    seconds: float
    ratio: float


def main(arguments: list[str]) -> None:
    """Measure, print, and fail if a rule takes longer than it may."""
    line = CommandLine("bench rules", _ABOUT)
    shown = "(default: %(default)s)"
    line.add_argument("rules", nargs="*", metavar="RULE", help="these alone")
    line.add_argument("--rows", type=at_least(3), default=100, help=f"models {shown}")
    line.add_argument(
        "--columns", type=at_least(_PARTS), default=1_000_000, help=f"parameters {shown}"
    )
    line.add_argument("--repeats", type=at_least(1), default=7, help=f"turns of each {shown}")
    options = line.read(arguments)
    for name in options.rules:
        if name not in RULES:
            raise TagmaError(f"{name}: there is no such rule here; known: {', '.join(RULES)}")
    found = []
    with one_thread():
        for name in options.rules or RULES:
            found += measure(name, options.rows, options.columns, options.repeats)
            notices.print(f"{name}: done", highlight=False)
    table = Table(title=f"CPU time at {options.rows} x {options.columns:,}", title_justify="left")
    for title in ("rule", "kind", "ms on arrays", "times arrays"):
        table.add_column(title, justify="right" if " " in title else "left")
    for one in found:
        table.add_row(one.rule, one.kind, f"{1000 * one.seconds:.1f}", f"{one.ratio:.2f}")
    console.print(table)
    if slow := missed(found):
        raise TagmaError("; ".join(slow))


def missed(found: Sequence[Ratio]) -> list[str]:
    """A line for everything that takes longer than it may."""
    return [
        f"{one.rule} on {one.kind} takes {one.ratio:.2f} times what it takes on arrays, not {MOST}"
        for one in found
        if one.ratio > MOST
    ]


def measure(name: str, m: int, d: int, repeats: int) -> list[Ratio]:
    """The ratios of a rule, for tensors and for state_dicts."""
    import torch

    rows: Any = np.random.default_rng(0).standard_normal((m, d), dtype=np.float32)
    rule, settings = getattr(rules, name), RULES[name]
    tensor = torch.from_numpy(rows)

    def on(models: Any) -> Callable[[Array], object]:
        return lambda _: rule(models, **settings)

    pairs = {"a tensor": (rows, tensor), "state_dicts": (_named(rows), _named(tensor))}
    found = []
    for kind, (arrays, tensors) in pairs.items():
        timed = compare({"arrays": on(arrays), kind: on(tensors)}, rows, repeats)
        found.append(Ratio(name, kind, timed["arrays"].seconds, timed[kind].to_first))
    return found


def _named(models: Any) -> list[dict[str, Any]]:
    """The models as dictionaries of several entries, without copying."""
    ends = np.linspace(0, models.shape[1], _PARTS + 1).astype(int).tolist()
    return [
        {f"layer.{i}": model[low:high] for i, (low, high) in enumerate(pairwise(ends))}
        for model in models
    ]
