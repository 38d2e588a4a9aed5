"""The page about benchmarking lists the grids that there are, with as many cells as they have."""

import re
from itertools import product
from pathlib import Path

import pytest

from tagma.bench.grid.conditions import holds
from tagma.bench.grid.plan import read_plan
from tagma.choices import choices

PAGE = (Path(__file__).parents[2] / "docs/benchmarking.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| .*? \| (\d+) \|$", PAGE, re.M))


def test_the_table_has_every_grid():
    assert sorted(ROWS) == choices("bench")


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_grid_has_as_many_cells_as_the_page_says(name):
    data = ["task.data=digits"] if name == "mnist" else []
    plan = read_plan(name, data)
    names = [[(axis.key, value.name) for value in axis.values] for axis in plan.axes]
    kept = [
        values
        for values in map(dict, product(*names))
        if not any(holds(condition, values) for condition in plan.skip)
    ]
    assert int(ROWS[name]) == len(kept) * len(plan.seeds)
