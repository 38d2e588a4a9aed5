"""What the constants of `preset=tagma` do: each one alone, a little and much smaller and larger."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.bench.experiments.array_federation import array_federation, descend, pooled_error
from tagma.bench.experiments.beyond_trial import TASK, score
from tagma.bench.experiments.ordinary_data import benign_federations, doubtful_models
from tagma.server.results.cluster_scores import estimation_error
from tagma.strategies.aggregation import mean, with_spectral_filter
from tagma.strategies.aggregation.pre.with_spectral_filter import FACTOR, REMOVABLE
from tagma.strategies.algorithms.server_step import GradientStep
from tagma.strategies.algorithms.three_stage import ThreeStage
from tagma.strategies.clustering import density
from tagma.strategies.clustering.density.constants import DEFAULTS, Constants, Doubting
from tagma.strategies.screening.reply_check import Limits

_TIMES = (0.5, 0.8, 1.25, 2)


def stage_two_trial(*, overrides: Sequence[str], seed: int) -> dict[str, Any]:
    """The clusters of one federation, with every constant of stage II changed."""
    federation = array_federation([*TASK, *overrides, f"seed={seed}"])
    return {
        "true k": len(federation.truth.known_centres()),
        "variants": {name: score(federation, changed) for name, changed in changed_constants()},
    }


def stage_three_trial(*, seed: int) -> dict[str, Any]:
    """Attackers who pass stage II: 30 % of every cluster send flipped gradients, or nobody.

    Errors over those of the mean of the others, and the share of honest clients excluded, with
    every constant of stage III changed.
    """
    federation = array_federation([*TASK, "attack=none", f"seed={seed}"])
    result = {}
    for name, limits, factor, removable in changed_limits():
        for kind, share in (("flipped", 0.3), ("none", 0.0)):
            byzantine = _first_of_each(federation.truth.labels, share)
            algorithm = ThreeStage(
                cluster=lambda clients, local_models: density(local_models),
                aggregate=with_spectral_filter(mean, factor=factor, removable=removable),
                optimiser=GradientStep(step=1.0),
                quarantine=True,
                reply_check=True,
                limits=limits,
            )
            state = descend(algorithm, federation, 20, flipped=byzantine)
            error = estimation_error(state.models, federation.truth.known_centres())
            result[f"{name}, {kind}"] = {
                "ratio": error / pooled_error(federation, federation.truth.labels, ~byzantine),
                "honest excluded": float(state.standing.excluded[~byzantine].mean()),
            }
    return result


def doubts_trial(*, seed: int) -> dict[str, Any]:
    """What is said of benign federations and of doubtful ones, with every constant of it changed.

    Doubtful are clusters four deviations apart, one of three clients, and four copies with .67 of
    the noise around each of ten clients.
    """
    kinds = {
        "benign": [federation.local_models() for federation in benign_federations(seed)],
        **{kind: [vectors] for kind, vectors in doubtful_models(seed).items()},
    }
    return {
        "variants": {
            name: {
                kind: float(np.mean([_said(vectors, changed) for vectors in of_kind]))
                for kind, of_kind in kinds.items()
            }
            for name, changed in changed_doubting()
        }
    }


def _said(vectors: Array, constants: Constants) -> bool:
    """Whether there is a warning."""
    found = density(vectors, constants=constants)
    return any(found.suspect) or (found.loose is not None and bool((found.loose >= 0).any()))


def changed_doubting() -> Iterator[tuple[str, Constants]]:
    """The constants of what is said as they are, and each changed."""
    yield "as they are", DEFAULTS
    for field in fields(DEFAULTS.doubting):
        value = getattr(DEFAULTS.doubting, field.name)
        for times in _TIMES:
            changed = replace(DEFAULTS.doubting, **{field.name: value * times})
            yield f"{field.name} x {times:g}", replace(DEFAULTS, doubting=changed)


def changed_constants() -> Iterator[tuple[str, Constants]]:
    """Names of changes, and the constants with them; a change that rounding undoes is none."""
    for field in fields(DEFAULTS):
        value = getattr(DEFAULTS, field.name)
        if isinstance(value, Doubting):
            continue  # which has a trial of its own
        for times in _TIMES:
            changed = type(value)(value * times)
            if changed != value:
                new: dict[str, Any] = {field.name: changed}
                yield f"{field.name} x {times:g}", replace(DEFAULTS, **new)


def changed_limits() -> Iterator[tuple[str, Limits, float, float]]:
    """The same for the limits of the reply check, and factor and share of the spectral filter."""
    limits = Limits()
    yield "as they are", limits, FACTOR, REMOVABLE
    for times in _TIMES:
        word = f"x {times:g}"
        for field in fields(limits):
            value = getattr(limits, field.name)
            changed = type(value)(round(value * times, 6))
            if changed != value:
                new = replace(limits, **{field.name: changed})
                yield f"{field.name} {word}", new, FACTOR, REMOVABLE
        yield f"factor {word}", limits, FACTOR * times, REMOVABLE
        yield f"removable {word}", limits, FACTOR, REMOVABLE * times


def _first_of_each(labels: Labels, share: float) -> Mask:
    """The first clients of every cluster."""
    chosen = np.zeros(len(labels), dtype=bool)
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        chosen[rows[: round(share * len(rows))]] = True
    return chosen
