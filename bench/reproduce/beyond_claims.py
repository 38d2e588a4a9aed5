"""What `preset=tagma` should reach, and whether the rows of trials show it."""

from collections.abc import Sequence

import numpy as np

from tagma.bench.reproduce.beyond_constants import constant_claims, doubt_claims, limit_claims
from tagma.bench.reproduce.beyond_rows import k_found, mean, perfect
from tagma.bench.reproduce.beyond_settings import (
    AT_MOST,
    ATTACKS,
    BENIGN,
    BOTH,
    CLUSTERS,
    CONSTANTS,
    FEW_DIMENSIONS,
    FEW_EXAMPLES,
    IMPOSTERS,
    INFILTRATE,
    NEAR,
    NUMBERS,
    ORACLE,
    ORDINARY,
    SEARCHED,
)
from tagma.bench.reproduce.experiment import Row, values
from tagma.bench.reproduce.paper_claims import Claim, verdict


def claims(rows: Sequence[Row]) -> list[Claim]:
    """All of them, of the parts that were measured."""
    measured = {row["method"] for row in rows}
    found: list[Claim] = []
    for needed, makers in (
        (BOTH, (error_claims, bound_claims)),
        (CLUSTERS, (clustering_claims, few_dimensions)),
        ({ORACLE}, (attack_claims,)),
        (IMPOSTERS, (imposter_claims,)),
        (ORDINARY, (ordinary_claims, near_claims, few_examples_claims)),
        ({BENIGN}, (benign_claims,)),
        (CONSTANTS, (constant_claims, doubt_claims, limit_claims)),
        (SEARCHED, (search_claims,)),
    ):
        if set(needed) <= measured:
            for make in makers:
                found += make(rows)
    return found


def error_claims(rows: Sequence[Row]) -> list[Claim]:
    """Errors against those without Byzantine clients."""
    found = []
    for label in BOTH:
        ours, paper, oracle = (mean(rows, label, name) for name in ("tagma", "paper", "oracle"))
        found.append(
            Claim(
                f"{label}: at most 1.05 times that without Byzantine clients",
                f"{ours:.4f}, none Byzantine {oracle:.4f}: {ours / oracle:.3f} times; the paper, "
                f"60 % of labels given: {paper:.4f}",
                verdict(ours <= 1.05 * oracle),
            )
        )
    return found


def clustering_claims(rows: Sequence[Row]) -> list[Claim]:
    """Perfect clusters, their number, and the CPU time, the median over trials."""
    found = []
    for label in CLUSTERS:
        share = perfect(rows, label)
        found.append(
            Claim(f"{label}: perfect in 95 %", f"{100 * share:.0f} %", verdict(share >= 0.95))
        )
    for label in NUMBERS:
        right = k_found(rows, label)
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
                f"K found in {100 * k_found(rows, label):.0f} %, "
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
        than = "that without Byzantine clients" if attack == INFILTRATE else "the paper's"
        found.append(
            Claim(
                f"attack {attack}, alpha = 0.3: at most 1.1 times {than}",
                f"{ours:.4g}; the paper's {paper:.4g}; without Byzantine clients {oracle:.4g}",
                verdict(ours <= limit),
            )
        )
    return found


def search_claims(rows: Sequence[Row]) -> list[Claim]:
    """Attacks at their worst, where every true cluster keeps an honest majority, and elsewhere."""
    found = []
    for label in SEARCHED:
        (row,) = (one for one in rows if one["method"] == label)
        ours, worst, paper = row["ours"], row["worst"], row["paper"]
        holds = ours <= 1.5 and ours <= 1.05 * paper and not row["unwarned"]
        kept = row["honest majority"] == 1
        found.append(
            Claim(
                f"{label}{'' if kept else ', a majority of one cluster'}: at most 1.5 times the "
                "error without Byzantine clients is served, and 1.05 times the paper's",
                f"{ours:.3f}, worst {worst:.3f}; the paper {paper:.4g}; "
                f"{100 * row['warned']:.0f} % with a warning, "
                f"{100 * row['unwarned']:.0f} % above 2 without; "
                f"{row['settings'] or 'as it is'} (the worst of {row['tries']})",
                verdict(holds) if kept else "-",
            )
        )
    return found


def ordinary_claims(rows: Sequence[Row]) -> list[Claim]:
    """What honest clients receive where data are uneven."""
    found = []
    for label in ORDINARY:
        limit = AT_MOST[label.rpartition(", alpha")[0]]
        ratio, out = (mean(rows, label, name) for name in ("served over oracle", "honest left out"))
        found.append(
            Claim(
                f"{label}: at most {limit:g} times the error without Byzantine clients is served, "
                "and no trial above 2 is without a warning",
                f"{ratio:.3f} times; K found in {100 * k_found(rows, label):.0f} %; "
                f"{100 * out:.1f} % of honest clients left out; {_bounds(rows, label)}; "
                f"{_warnings(rows, label)}",
                verdict(ratio <= limit and not mean(rows, label, "unwarned")),
            )
        )
    return found


def near_claims(rows: Sequence[Row]) -> list[Claim]:
    """Clusters that are hardly to be told apart."""
    return [
        Claim(
            f"{label}: bounds, where there are any, cover 90 %",
            f"{mean(rows, label, 'served over oracle'):.2f} times the error; "
            f"K found in {100 * k_found(rows, label):.0f} %; {_bounds(rows, label)}; "
            f"{_warnings(rows, label)}",
            verdict(mean(rows, label, "covered") >= 0.9),
        )
        for label in NEAR
    ]


def few_examples_claims(rows: Sequence[Row]) -> list[Claim]:
    """No more examples than coefficients."""
    return [
        Claim(
            f"{label}: clusters found in 90 %",
            f"{100 * perfect(rows, label):.0f} % perfect; K found in "
            f"{100 * k_found(rows, label):.0f} %; "
            f"{mean(rows, label, 'served over oracle'):.2f} times the error",
            verdict(perfect(rows, label) >= 0.9),
        )
        for label in FEW_EXAMPLES
    ]


def benign_claims(rows: Sequence[Row]) -> list[Claim]:
    """Federations of all kinds without Byzantine clients: three in each trial."""
    right, out, covered, warned = (
        mean(rows, BENIGN, name)
        for name in ("k right", "honest left out", "covered", "warned for nothing")
    )
    return [
        Claim(
            f"{BENIGN}: K right in 58", f"{100 * right:.1f} %", verdict(right > 57.5 / 60)
        ),
        Claim(
            f"{BENIGN}: at most 1 % of honest clients left out",
            f"{100 * out:.2f} %", verdict(out <= 0.01),
        ),
        Claim(
            f"{BENIGN}: bounds cover 95 to 100 %",
            f"{_bounds(rows, BENIGN)}; {100 * covered:.1f} %", verdict(covered >= 0.95),
        ),
        Claim(
            f"{BENIGN}: at most 2 % with a warning although everybody is in the right cluster, "
            "none above 2 times the error without one",
            f"{100 * warned:.1f} %; served {mean(rows, BENIGN, 'served over oracle'):.3f} times; "
            f"{_warnings(rows, BENIGN)}",
            verdict(warned <= 0.02 and not mean(rows, BENIGN, "unwarned")),
        ),
    ]  # fmt: skip


def _bounds(rows: Sequence[Row], label: str) -> str:
    covered, withheld = (mean(rows, label, name) for name in ("covered", "withheld"))
    return f"bounds cover {100 * covered:.0f} %, {100 * withheld:.0f} % withheld"


def _warnings(rows: Sequence[Row], label: str) -> str:
    warned, unwarned = (mean(rows, label, name) for name in ("warned", "unwarned"))
    return f"{100 * warned:.0f} % with a warning, {100 * unwarned:.0f} % above 2 without"


def imposter_claims(rows: Sequence[Row]) -> list[Claim]:
    """Byzantine clients that nothing gives away."""
    found = []
    for label in IMPOSTERS:
        ours, paper, oracle = (mean(rows, label, name) for name in ("tagma", "paper", "oracle"))
        measured = f"{ours:.4f}; the paper, 60 % of labels given: {paper:.4f}; oracle {oracle:.4f}"
        found.append(
            Claim(f"{label}: at most 1.1 times the paper's", measured, verdict(ours <= 1.1 * paper))
        )
    return found
