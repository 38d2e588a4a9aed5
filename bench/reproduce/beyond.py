"""Beyond the paper: `preset=tagma` against what it promises, with nothing known in advance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tagma.bench.cells import ArrayCell, Cell
from tagma.bench.federation_cell import FederationCell
from tagma.bench.reproduce.beyond_claims import claims
from tagma.bench.reproduce.beyond_figure import draw
from tagma.bench.reproduce.beyond_rows import mean
from tagma.bench.reproduce.beyond_settings import (
    ALPHAS,
    ATTACKS,
    BOTH,
    CLUSTERS,
    CONSTANTS,
    CORRELATED,
    ERRORS,
    FEW_DIMENSIONS,
    IMPOSTERS,
    LIMITS,
    NUMBERS,
    ORACLE,
    ORDINARY,
)
from tagma.bench.reproduce.experiment import Experiment, Row
from tagma.errors import TagmaError

_RUN = ("task=mixture_regression", "rounds=20", "evaluate=false", "oracle=false")
_FEWER = 5
"""Attacks, which are whole federations, and constants have this many times fewer trials."""


def _cells(trials: int, seed: int, overrides: Sequence[str]) -> list[Cell]:
    if overrides:
        raise TagmaError(f"{overrides[0]}: this experiment has no settings to override")
    cells: list[Cell] = []
    fewer = max(1, trials // _FEWER)
    attacked = [
        FederationCell.trials(label, (*_RUN, *settings), seed, fewer)
        for label, settings in _runs().items()
    ]
    for trial in range(trials):
        cells += _on_arrays(trial, seed + trial)
        if trial < fewer:
            cells += _with_changed_constants(trial, seed + trial)
            cells += [own[trial] for own in attacked]
    return cells


def _on_arrays(trial: int, seed: int) -> list[ArrayCell]:
    module, own = "tagma.bench.experiments.beyond_trial", ("seed", seed)
    clustering = [
        ArrayCell(label, trial, f"{module}.clustering_trial", (("overrides", settings), own))
        for label, settings in (CLUSTERS | NUMBERS | FEW_DIMENSIONS).items()
    ]
    estimation = [
        ArrayCell(
            label, trial, f"{module}.estimation_trial",
            (("overrides", settings), ("rounds", 40 if label in CORRELATED else 20), own),
        )
        for label, settings in BOTH.items()
    ]  # fmt: skip
    imposters = [
        ArrayCell(label, trial, f"{module}.imposter_trial", (("share", share), own))
        for label, share in IMPOSTERS.items()
    ]
    ordinary = [
        ArrayCell(
            label, trial, "tagma.bench.experiments.ordinary_data.ordinary_trial", (*settings, own)
        )
        for label, settings in ORDINARY.items()
    ]
    return [*clustering, *estimation, *imposters, *ordinary]


def _with_changed_constants(trial: int, seed: int) -> list[ArrayCell]:
    module, own = "tagma.bench.experiments.constants_trial", ("seed", seed)
    settings = CLUSTERS | NUMBERS
    second = [
        ArrayCell(
            label, trial, f"{module}.stage_two_trial", (("overrides", settings[setting]), own)
        )
        for label, setting in CONSTANTS.items()
    ]
    return [*second, ArrayCell(LIMITS, trial, f"{module}.stage_three_trial", (own,))]


def _runs() -> dict[str, tuple[str, ...]]:
    runs = {
        f"{attack}: {preset}": (*settings, f"preset={preset}")
        for attack, settings in ATTACKS.items()
        for preset in ("paper", "tagma")
    }
    runs[ORACLE] = ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean")
    return runs


def _measure(method: str, result: Mapping[str, Any]) -> list[Row]:
    """The numbers of a trial, flat; of a whole federation, its error."""
    row: Row = {"method": method}
    if "messages" in result:
        return [row | {"error": result["estimation_error"], "served": result["served_error"]}]
    for key, value in result.items():
        if key == "variants":
            for name, scores in value.items():
                row |= {f"{name}: {score}": number for score, number in scores.items()}
        elif isinstance(value, dict):
            row |= {f"{key}: {score}": number for score, number in value.items()}
        elif isinstance(value, list):
            row[key] = float(np.mean(value))
        else:
            row[key] = value
    return [row]


def _draw(rows: Sequence[Row], path: Path) -> None:
    errors = {
        name: [mean(rows, method, name) for method in ERRORS]
        for name in ("tagma", "paper", "oracle")
    }
    oracle = mean(rows, ORACLE, "error")
    attacks = {
        preset: [mean(rows, f"{attack}: {preset}", "error") / oracle for attack in ATTACKS]
        for preset in ("tagma", "paper")
    }
    draw(path, ALPHAS, errors, list(ATTACKS), attacks)


EXPERIMENT = Experiment(
    name="beyond",
    about="beyond the paper: nothing known in advance, the error as if nobody were Byzantine",
    cells=_cells,
    measure=_measure,
    claims=claims,
    draw=_draw,
    heading="should hold",
    notes=lambda overrides: (
        f"""\
m = 100, d = 100, K = 5, n = 200, sigma = 2, 20 rounds and the paper's Byzantine clients unless
said. Errors are means over trials of max_k ||w_k - w*_k|| / sqrt(d). Correlated inputs: AR(1) with
0.5, step 0.33, 40 rounds. CPU times are the least of five tries, the median over trials. Attacks
are whole federations with real messages; all other rows are the same algorithms on arrays.
Imposters are honest programs on data whose coefficients are shifted by half as much as local models
scatter. Constants are changed one at a time; clusters and K are those of the worst setting, the
error is the worst over alpha = 0 to 0.4. Attacks and constants have {_FEWER} times fewer trials."""
    ),
)
