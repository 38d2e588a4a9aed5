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
    BENIGN,
    BOTH,
    CLUSTERS,
    CONSTANTS,
    CORRELATED,
    DOUBTING,
    ERRORS,
    FEW_DIMENSIONS,
    FEW_EXAMPLES,
    IMPOSTERS,
    LIMITS,
    NEAR,
    NUMBERS,
    ORACLE,
    ORDINARY,
    SEARCHED,
    Settings,
)
from tagma.bench.reproduce.experiment import Experiment, Row
from tagma.errors import TagmaError

_RUN = ("task=mixture_regression", "rounds=20", "evaluate=false", "oracle=false")
_FEWER = 5
"""Attacks, which are whole federations, and constants have this many times fewer trials, and so
has what a search found; it may try this many times as often."""


def _cells(trials: int, seed: int, overrides: Sequence[str]) -> list[Cell]:
    chosen = _chosen(overrides)
    fewer = max(1, trials // _FEWER)
    attacked = [
        FederationCell.trials(label, (*_RUN, *settings), seed, fewer)
        for label, settings in (_runs() if "attacks" in chosen else {}).items()
    ]
    cells: list[Cell] = []
    for trial in range(trials):
        for part in chosen:
            if part in _ON_ARRAYS and (part != "constants" or trial < fewer):
                cells += [
                    ArrayCell(label, trial, function, (*arguments, ("seed", seed + trial)))
                    for label, (function, arguments) in _ON_ARRAYS[part].items()
                ]
        cells += [own[trial] for own in attacked if trial < fewer]
    if "searches" in chosen:
        search = "tagma.bench.experiments.search_trial.search_trial"
        so_many = (("tries", _FEWER * trials), ("fresh", fewer), ("seed", seed))
        cells += [ArrayCell(label, 0, search, (*own, *so_many)) for label, own in SEARCHED.items()]
    return cells


def _chosen(overrides: Sequence[str]) -> list[str]:
    """Those that `parts=` names, or all but the searches, which take as long as all others."""
    if not overrides:
        return [part for part in PARTS if part != "searches"]
    name, _, listed = overrides[-1].partition("=")
    if len(overrides) > 1 or name != "parts":
        raise TagmaError(f"{overrides[0]}: this experiment has no settings to override but parts")
    chosen = listed.strip("[]").split(",")
    for part in chosen:
        if part not in PARTS:
            raise TagmaError(f"parts={part}: there is no such part; known: {', '.join(PARTS)}")
    return chosen


_Trials = dict[str, tuple[str, tuple[tuple[str, Any], ...]]]
"""A function by its dotted path, and its arguments, by label."""


def _trials(function: str, arguments: Mapping[str, tuple[tuple[str, Any], ...]]) -> _Trials:
    path = f"tagma.bench.experiments.{function}"
    return {label: (path, own) for label, own in arguments.items()}


def _given(settings: Settings) -> dict[str, tuple[tuple[str, Any], ...]]:
    return {label: (("overrides", own),) for label, own in settings.items()}


_ON_ARRAYS: dict[str, _Trials] = {
    "errors": _trials(
        "beyond_trial.estimation_trial",
        {
            label: (("overrides", own), ("rounds", 40 if label in CORRELATED else 20))
            for label, own in BOTH.items()
        },
    ),
    "clusters": _trials(
        "beyond_trial.clustering_trial", _given(CLUSTERS | NUMBERS | FEW_DIMENSIONS)
    ),
    "imposters": _trials(
        "beyond_trial.imposter_trial",
        {label: (("share", share),) for label, share in IMPOSTERS.items()},
    ),
    "ordinary": _trials("ordinary_data.ordinary_trial", ORDINARY | NEAR | FEW_EXAMPLES),
    "benign": _trials("ordinary_data.benign_trial", {BENIGN: ()}),
    "constants": _trials(
        "constants_trial.stage_two_trial",
        _given({label: (CLUSTERS | NUMBERS)[own] for label, own in CONSTANTS.items()}),
    )
    | _trials("constants_trial.doubts_trial", {DOUBTING: ()})
    | _trials("constants_trial.stage_three_trial", {LIMITS: ()}),
}
PARTS = (*_ON_ARRAYS, "attacks", "searches")


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
    """Only where both errors and attacks were measured."""
    if not {*ERRORS, ORACLE} <= {row["method"] for row in rows}:
        return
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
error is the worst over alpha = 0 to 0.4. Attacks and constants have {_FEWER} times fewer trials.
A warning is a suspect cluster, a contradiction, or clients who may be in the wrong cluster or one
that was not found.

Searches try {_FEWER} times as many parameters as there are trials and look at the worst on fresh
seeds, as the paper's pair does (`bench.experiments.search_trial`); they run only when named.

parts=NAME,... runs only these: {", ".join(PARTS)}."""
    ),
)
