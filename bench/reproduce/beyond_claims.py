"""What `preset=tagma` should reach, and whether the rows of trials show it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.reproduce.beyond_settings import (
    ALL_ALPHAS,
    ATTACKS,
    BOTH,
    CLUSTERS,
    CONSTANTS,
    FEW_DIMENSIONS,
    IMPOSTERS,
    INFILTRATE,
    LIMITS,
    NUMBERS,
    ORACLE,
)
from bench.reproduce.claims import Claim, verdict
from bench.reproduce.experiment import Row, values

_PERFECT = 0.02
"""Misclustering up to this is one machine of fifty."""
_LABEL_OF = {setting: label for label, setting in CONSTANTS.items()}


def claims(rows: Sequence[Row]) -> list[Claim]:
    """All of them."""
    return [
        *error_claims(rows),
        *clustering_claims(rows),
        *few_dimensions(rows),
        *bound_claims(rows),
        *attack_claims(rows),
        *imposter_claims(rows),
        *constant_claims(rows),
        *limit_claims(rows),
    ]


def error_claims(rows: Sequence[Row]) -> list[Claim]:
    """Errors against those without liars."""
    found = []
    for label in BOTH:
        ours, paper, oracle = (mean(rows, label, name) for name in ("tagma", "paper", "oracle"))
        found.append(
            Claim(
                f"{label}: at most 1.05 times that without liars",
                f"{ours:.4f}, without liars {oracle:.4f}: {ours / oracle:.3f} times; the paper, "
                f"60 % of labels given: {paper:.4f}",
                verdict(ours <= 1.05 * oracle),
            )
        )
    return found


def clustering_claims(rows: Sequence[Row]) -> list[Claim]:
    """Perfect clusters, their number, and the CPU time, the median over trials."""
    found = []
    for label in CLUSTERS:
        perfect = _perfect(rows, label)
        found.append(
            Claim(f"{label}: perfect in 95 %", f"{100 * perfect:.0f} %", verdict(perfect >= 0.95))
        )
    for label in NUMBERS:
        right = _k_found(rows, label)
        found.append(
            Claim(f"{label}: K found in 90 %", f"{100 * right:.0f} %", verdict(right >= 0.9))
        )
    for label in CLUSTERS:
        ours, theirs = (
            float(np.median(values(rows, name, method=label)))
            for name in ("seconds", "seconds, trimmed K-means")
        )
        found.append(
            Claim(
                f"{label}: a third of the CPU time of trimmed K-means, 20 restarts",
                f"{1e3 * ours:.1f} ms, {1e3 * theirs:.1f} ms: {ours / theirs:.2f} times",
                verdict(3 * ours <= theirs),
            )
        )
    return found


def few_dimensions(rows: Sequence[Row]) -> list[Claim]:
    """Where nothing is promised: what is found, and how far apart the nearest clusters are."""
    found = []
    for label in FEW_DIMENSIONS:
        gap = float(np.median(values(rows, "gap", method=label)))
        found.append(
            Claim(
                label,
                f"K found in {100 * _k_found(rows, label):.0f} %, "
                f"{100 * mean(rows, label, 'misclustering'):.1f} % misclustered; nearest centres "
                f"{gap:.1f} standard deviations apart",
                "-",
            )
        )
    return found


def bound_claims(rows: Sequence[Row]) -> list[Claim]:
    """Error bounds against errors."""
    found = []
    for label in BOTH:
        covered, times = mean(rows, label, "covered"), mean(rows, label, "bound over error")
        found.append(
            Claim(
                f"{label}: bounds cover 90 to 100 % of clusters",
                f"{100 * covered:.1f} %; {times:.2f} times the error",
                verdict(covered >= 0.9),
            )
        )
    return found


def attack_claims(rows: Sequence[Row]) -> list[Claim]:
    """Both presets under every attack."""
    oracle = mean(rows, ORACLE, "error")
    found = []
    for attack in ATTACKS:
        paper, ours = (mean(rows, f"{attack}: {name}", "error") for name in ("paper", "tagma"))
        limit = 1.1 * (oracle if attack == INFILTRATE else paper)
        than = "that without liars" if attack == INFILTRATE else "the paper's"
        found.append(
            Claim(
                f"attack {attack}, alpha = 0.3: at most 1.1 times {than}",
                f"{ours:.4g}; the paper's {paper:.4g}; without liars {oracle:.4g}",
                verdict(ours <= limit),
            )
        )
    return found


def imposter_claims(rows: Sequence[Row]) -> list[Claim]:
    """Liars that nothing gives away."""
    found = []
    for label in IMPOSTERS:
        ours, paper, oracle = (mean(rows, label, name) for name in ("tagma", "paper", "oracle"))
        measured = f"{ours:.4f}; the paper, 60 % of labels given: {paper:.4f}; oracle {oracle:.4f}"
        found.append(
            Claim(f"{label}: at most 1.1 times the paper's", measured, verdict(ours <= 1.1 * paper))
        )
    return found


def constant_claims(rows: Sequence[Row]) -> list[Claim]:
    """Stage II with every constant changed: the worst setting, and over all alphas the error."""
    ending = ": misclustering"
    names = dict.fromkeys(
        key.removesuffix(ending)
        for row in rows
        if row["method"] in CONSTANTS
        for key in row
        if key.endswith(ending)
    )
    found = []
    for name in names:
        perfect = min(_perfect(rows, _LABEL_OF[label], f"{name}: ") for label in CLUSTERS)
        right = min(_k_found(rows, _LABEL_OF[label], f"{name}: ") for label in NUMBERS)
        ratio = max(mean(rows, _LABEL_OF[label], f"{name}: ratio") for label in ALL_ALPHAS)
        found.append(
            Claim(
                name,
                f"perfect in {100 * perfect:.0f} %, K found in {100 * right:.0f} %, "
                f"{ratio:.3f} times the error without liars",
                verdict(perfect >= 0.95 and right >= 0.9 and ratio <= 1.05),
            )
        )
    return found


def limit_claims(rows: Sequence[Row]) -> list[Claim]:
    """Stage III with every constant changed."""
    ending = ", flipped: ratio"
    names = dict.fromkeys(
        key.removesuffix(ending)
        for row in rows
        if row["method"] == LIMITS
        for key in row
        if key.endswith(ending)
    )
    found = []
    for name in names:
        lies, none = (mean(rows, LIMITS, f"{name}, {kind}: ratio") for kind in ("flipped", "none"))
        lost = mean(rows, LIMITS, f"{name}, none: honest excluded")
        found.append(
            Claim(
                f"stage III, {name}",
                f"30 % flipped: {lies:.3f}, none: {none:.3f} times the error without them; "
                f"{100 * lost:.1f} % of honest machines excluded",
                verdict(lies <= 1.1 and none <= 1.05),
            )
        )
    return found


def mean(rows: Sequence[Row], method: str, column: str) -> float:
    """The mean over trials."""
    return float(np.mean(values(rows, column, method=method)))


def _perfect(rows: Sequence[Row], method: str, of: str = "") -> float:
    return _share(rows, method, lambda row: row[f"{of}misclustering"] <= _PERFECT)


def _k_found(rows: Sequence[Row], method: str, of: str = "") -> float:
    return _share(rows, method, lambda row: row[f"{of}k"] == row["true k"])


def _share(rows: Sequence[Row], method: str, holds: Callable[[Row], Any]) -> float:
    return float(np.mean([holds(row) for row in rows if row["method"] == method]))
