"""Whether what `preset=tagma` should reach hangs on its constants."""

from collections.abc import Sequence

from tagma.bench.reproduce.beyond_rows import k_found, mean, perfect
from tagma.bench.reproduce.beyond_settings import (
    ALL_ALPHAS,
    CLUSTERS,
    CONSTANTS,
    DOUBTING,
    LIMITS,
    NUMBERS,
)
from tagma.bench.reproduce.experiment import Row
from tagma.bench.reproduce.paper_claims import Claim, verdict

_KINDS = ("benign", "near", "three alike", "copies")
_LABEL_OF = {setting: label for label, setting in CONSTANTS.items()}


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
        flawless = min(perfect(rows, _LABEL_OF[label], f"{name}: ") for label in CLUSTERS)
        right = min(k_found(rows, _LABEL_OF[label], f"{name}: ") for label in NUMBERS)
        ratio = max(mean(rows, _LABEL_OF[label], f"{name}: ratio") for label in ALL_ALPHAS)
        found.append(
            Claim(
                name,
                f"perfect in {100 * flawless:.0f} %, K found in {100 * right:.0f} %, "
                f"{ratio:.3f} times the error without Byzantine clients",
                verdict(flawless >= 0.95 and right >= 0.9 and ratio <= 1.05),
            )
        )
    return found


def doubt_claims(rows: Sequence[Row]) -> list[Claim]:
    """Warnings with every constant of what is said changed: not more of nothing, nor fewer."""
    ending = ": benign"
    names = dict.fromkeys(
        key.removesuffix(ending)
        for row in rows
        if row["method"] == DOUBTING
        for key in row
        if key.endswith(ending)
    )
    usual = {kind: mean(rows, DOUBTING, f"as they are: {kind}") for kind in _KINDS}
    found = []
    for name in names:
        said = {kind: mean(rows, DOUBTING, f"{name}: {kind}") for kind in _KINDS}
        calm = said["benign"] <= usual["benign"] + 0.02
        missed = any(said[kind] < usual[kind] - 0.1 for kind in _KINDS[1:])
        found.append(
            Claim(
                f"what is said, {name}",
                "a warning in "
                + ", ".join(f"{100 * said[kind]:.0f} % ({kind})" for kind in _KINDS),
                verdict(calm and not missed),
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
        flipped, none = (
            mean(rows, LIMITS, f"{name}, {kind}: ratio") for kind in ("flipped", "none")
        )
        lost = mean(rows, LIMITS, f"{name}, none: honest excluded")
        found.append(
            Claim(
                f"stage III, {name}",
                f"30 % flipped: {flipped:.3f}, none: {none:.3f} times the error without them; "
                f"{100 * lost:.1f} % of honest clients excluded",
                verdict(flipped <= 1.1 and none <= 1.05),
            )
        )
    return found
