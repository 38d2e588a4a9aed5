"""Beyond the paper: `preset=tagma` against what it promises, with nothing known in advance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.cells import ArrayCell, Cell, RunCell
from bench.reproduce.beyond_figure import draw
from bench.reproduce.claims import Claim, verdict
from bench.reproduce.experiment import Experiment, Row, values
from launch.run import check
from tagma.errors import TagmaError
from tagma.settings import compose

_PERFECT = 0.02
"""Misclustering up to this is one machine of fifty."""
_ALPHAS = (0, 0.1, 0.2, 0.3, 0.4)
_CLUSTERS = {
    f"n = {n}, sigma = {sigma}, alpha = {alpha}": (
        f"task.samples={n}", f"task.noise={sigma}", f"attack.fraction={alpha}",
    )
    for n, sigma, alpha in (
        (200, 2, 0), (200, 2, 0.1), (200, 2, 0.3), (200, 2, 0.4), (120, 3, 0.3), (65, 3, 0.3),
    )
} | {
    "sizes .4 .25 .15 .1 .1, alpha = 0.2": (
        "task.sizes=[0.4,0.25,0.15,0.1,0.1]", "attack.fraction=0.2",
    ),
    "K = 10, m = 200, alpha = 0.2": (
        "task.clusters=10", "task.machines=200", "attack.fraction=0.2",
    ),
}  # fmt: skip
_NUMBERS = {
    f"K = {k}, alpha = 0.2": (f"task.clusters={k}", "attack.fraction=0.2") for k in (1, 2, 5, 8)
}
_ERRORS = {f"error, alpha = {alpha}": (f"attack.fraction={alpha}",) for alpha in _ALPHAS}
_CORRELATED = {
    f"error, correlated inputs, alpha = {alpha}": (
        f"attack.fraction={alpha}", "task.covariance=ar1", "task.correlation=0.5",
        "optimiser.step=0.33",
    )
    for alpha in (0, 0.2, 0.3)
}  # fmt: skip
_BOTH: dict[str, tuple[str, ...]] = {**_ERRORS, **_CORRELATED}
_SCREENING = "constants of stage III"
_IMPOSTERS = {f"imposters, {share} of a cluster": share for share in (0.3, 0.6)}
_INFILTRATE = "infiltrate, flipped gradients"
_ATTACKS = {
    name: (f"attack={name}",)
    for name in (
        "alie", "bridge", "fake_cluster", "garbage", "gaussian_noise", "infiltrate", "inflate",
        "ipm", "label_flip", "lazy", "mimic", "min_max", "min_sum", "mixed",
        "poisoned_regression", "random_model", "sign_flip", "sleeper", "split", "stale", "starve",
        "trimmed_mean_attack",
    )
} | {_INFILTRATE: ("attack=infiltrate", "attack.later=sign_flip")}  # fmt: skip
_ORACLE = "without the liars"
_RUN = (
    "task=mixture_regression", "rounds=20", "evaluate=false", "oracle=false",
)  # fmt: skip
_FEWER = 8
"""Attacks are whole federations, so they have this many times fewer trials."""
_SELDOM = 8
"""One trial of so many looks at all constants."""


def _cells(trials: int, seed: int, overrides: Sequence[str]) -> list[Cell]:
    if overrides:
        raise TagmaError(f"{overrides[0]}: this experiment has no settings to override")
    functions = "bench.experiments.beyond"
    cells: list[Cell] = []
    for trial in range(trials):
        own = ("seed", seed + trial)
        for label, settings in (_CLUSTERS | _NUMBERS).items():
            constants = ("constants", trial % _SELDOM == 0)
            cells.append(
                ArrayCell(label, trial, f"{functions}.clustering_trial",
                          (("overrides", settings), constants, own))
            )  # fmt: skip
        for label, settings in _BOTH.items():
            rounds = 40 if label in _CORRELATED else 20
            cells.append(
                ArrayCell(label, trial, f"{functions}.estimation_trial",
                          (("overrides", settings), ("rounds", rounds), own))
            )  # fmt: skip
        for label, share in _IMPOSTERS.items():
            arguments = (("share", share), own)
            cells.append(ArrayCell(label, trial, f"{functions}.imposter_trial", arguments))
        if trial % _SELDOM == 0:
            cells.append(ArrayCell(_SCREENING, trial, f"{functions}.screening_trial", (own,)))
    attacked = [
        RunCell(label, trial, (*_RUN, *settings), seed + trial)
        for trial in range(max(1, trials // _FEWER))
        for label, settings in _runs().items()
    ]
    for settings in dict.fromkeys(cell.overrides for cell in attacked):
        check(compose(settings))
    return [*cells, *attacked]


def _runs() -> dict[str, tuple[str, ...]]:
    runs = {
        f"{attack}: {preset}": (*settings, f"preset={preset}")
        for attack, settings in _ATTACKS.items()
        for preset in ("paper", "tagma")
    }
    runs[_ORACLE] = ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean")
    return runs


def _measure(method: str, result: Mapping[str, Any]) -> list[Row]:
    """The numbers of a trial, flat; of a whole run, its error."""
    row: Row = {"method": method}
    if "messages" in result:
        return [row | {"error": result["estimation_error"]}]
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


def _claims(rows: Sequence[Row]) -> list[Claim]:
    return [
        *_error_claims(rows),
        *_clustering_claims(rows),
        *_bound_claims(rows),
        *_attack_claims(rows),
        *_imposter_claims(rows),
        *_constant_claims(rows),
    ]


def _error_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for label in _BOTH:
        ours, paper, oracle = (
            float(np.mean(values(rows, name, method=label)))
            for name in ("tagma", "paper", "oracle")
        )
        claims.append(
            Claim(
                f"{label}: at most 1.05 times that without liars",
                f"{ours:.4f}, without liars {oracle:.4f}: {ours / oracle:.3f} times; the paper, "
                f"60 % of labels given: {paper:.4f}",
                verdict(ours <= 1.05 * oracle),
            )
        )
    return claims


def _clustering_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for label in _CLUSTERS:
        perfect = _share(rows, label, "misclustering", lambda row, value: value <= _PERFECT)
        claims.append(
            Claim(f"{label}: perfect in 95 %", f"{100 * perfect:.0f} %", verdict(perfect >= 0.95))
        )
    for label in _NUMBERS:
        found = _share(rows, label, "k", lambda row, value: value == row["true k"])
        claims.append(
            Claim(f"{label}: K found in 90 %", f"{100 * found:.0f} %", verdict(found >= 0.9))
        )
    for label in _CLUSTERS:
        ours, theirs = (
            float(np.median(values(rows, name, method=label)))
            for name in ("seconds", "seconds, trimmed K-means")
        )
        claims.append(
            Claim(
                f"{label}: a third of the CPU time of trimmed K-means, 20 restarts",
                f"{1e3 * ours:.1f} ms, {1e3 * theirs:.1f} ms: {ours / theirs:.2f} times",
                verdict(3 * ours <= theirs),
            )
        )
    return claims


def _bound_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for label in _BOTH:
        covered = float(np.mean(values(rows, "covered", method=label)))
        times = float(np.mean(values(rows, "bound over error", method=label)))
        claims.append(
            Claim(
                f"{label}: bounds cover 90 to 100 % of clusters",
                f"{100 * covered:.1f} %; {times:.2f} times the error",
                verdict(covered >= 0.9),
            )
        )
    return claims


def _attack_claims(rows: Sequence[Row]) -> list[Claim]:
    oracle = _mean_error(rows, _ORACLE)
    claims = []
    for attack in _ATTACKS:
        paper, ours = (_mean_error(rows, f"{attack}: {preset}") for preset in ("paper", "tagma"))
        limit = 1.1 * (oracle if attack == _INFILTRATE else paper)
        than = "that without liars" if attack == _INFILTRATE else "the paper's"
        claims.append(
            Claim(
                f"attack {attack}, alpha = 0.3: at most 1.1 times {than}",
                f"{ours:.4g}; the paper's {paper:.4g}; without liars {oracle:.4g}",
                verdict(ours <= limit),
            )
        )
    return claims


def _imposter_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for label in _IMPOSTERS:
        ours, paper, oracle = (
            float(np.mean(values(rows, name, method=label)))
            for name in ("tagma", "paper", "oracle")
        )
        measured = f"{ours:.4f}; the paper, 60 % of labels given: {paper:.4f}; oracle {oracle:.4f}"
        claims.append(
            Claim(f"{label}: not worse than the paper", measured, verdict(ours <= 1.1 * paper))
        )
    return claims


def _constant_claims(rows: Sequence[Row]) -> list[Claim]:
    """The worst setting, for every constant much and a little smaller and larger."""
    claims = []
    for name in _variants(rows):
        perfect = min(
            _share(rows, label, f"{name}: misclustering", lambda row, value: value <= _PERFECT)
            for label in _CLUSTERS
        )
        found = min(
            _share(rows, label, f"{name}: k", lambda row, value: value == row["true k"])
            for label in _NUMBERS
        )
        ratio = max(
            float(
                np.mean([row[column] for row in rows if row["method"] == label and column in row])
            )
            for label in _NUMBERS
            if (column := f"{name}: ratio")
        )
        claims.append(
            Claim(
                f"{name}",
                f"perfect in {100 * perfect:.0f} %, K found in {100 * found:.0f} %, "
                f"{ratio:.3f} times the error without liars",
                verdict(perfect >= 0.95 and found >= 0.9 and ratio <= 1.05),
            )
        )
    for row in [row for row in rows if row["method"] == _SCREENING][:1]:
        for key in (key for key in row if key.endswith("flipped: ratio")):
            name = key.partition(",")[0]
            lies, none = (
                float(np.mean(values(rows, f"{name}, {kind}: ratio", method=_SCREENING)))
                for kind in ("flipped", "none")
            )
            lost = np.mean(values(rows, f"{name}, none: honest excluded", method=_SCREENING))
            claims.append(
                Claim(
                    f"stage III, {name}",
                    f"30 % flipped: {lies:.3f}, none: {none:.3f} times the error without them; "
                    f"{100 * lost:.1f} % of honest machines excluded",
                    verdict(lies <= 1.1 and none <= 1.05),
                )
            )
    return claims


def _variants(rows: Sequence[Row]) -> list[str]:
    first = next(row for row in rows if row["method"] in _CLUSTERS and row["trial"] == 0)
    ending = ": misclustering"
    return [key.removesuffix(ending) for key in first if key.endswith(ending)]


def _share(rows: Sequence[Row], method: str, column: str, holds: Any) -> float:
    found = [row for row in rows if row["method"] == method and column in row]
    return float(np.mean([holds(row, row[column]) for row in found]))


def _mean_error(rows: Sequence[Row], method: str) -> float:
    return float(np.mean(values(rows, "error", method=method)))


def _draw(rows: Sequence[Row], path: Path) -> None:
    errors = {
        name: [float(np.mean(values(rows, name, method=method))) for method in _ERRORS]
        for name in ("tagma", "paper", "oracle")
    }
    oracle = _mean_error(rows, _ORACLE)
    attacks = {
        preset: [_mean_error(rows, f"{attack}: {preset}") / oracle for attack in _ATTACKS]
        for preset in ("tagma", "paper")
    }
    draw(path, _ALPHAS, errors, list(_ATTACKS), attacks)


EXPERIMENT = Experiment(
    name="beyond",
    about="beyond the paper: nothing known in advance, the error of a federation without liars",
    cells=_cells,
    measure=_measure,
    claims=_claims,
    draw=_draw,
    heading="should hold",
    notes=lambda overrides: (
        f"""\
m = 100, d = 100, K = 5, n = 200, sigma = 2, 20 rounds and the paper's liars unless said. Errors are
means over trials of max_k ||w_k - w*_k|| / sqrt(d). Correlated inputs: AR(1) with 0.5, step 0.33,
40 rounds. Attacks are whole federations with real messages, {_FEWER} times fewer trials; all other
rows are the same algorithms on arrays. Imposters are honest programs on data whose coefficients are
shifted by half as much as local models scatter. Constants are changed one at a time, in one trial
of {_SELDOM}; the worst setting counts."""
    ),
)
