"""A number of every cell as an array over seeds and conditions."""

from collections.abc import Callable, Sequence

import numpy as np

from tagma.report.bench_data import Bench, BenchCell
from tagma.report.bootstrap import Array


def by_seed_and_condition(
    bench: Bench,
    cells: Sequence[BenchCell],
    conditions: Sequence[str],
    value: Callable[[BenchCell], float | None],
) -> Array:
    """One row per seed of the bench; NaN where there is no cell or no number."""
    sample = np.full((len(bench.seeds), len(conditions)), np.nan)
    for cell in cells:
        known = value(cell)
        if known is not None:
            row, column = bench.seeds.index(cell.seed), conditions.index(bench.condition(cell))
            sample[row, column] = known
    return sample
