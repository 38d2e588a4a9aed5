"""What `preset=tagma` reaches, on arrays: clusters, errors, error bounds, and its constants.

The algorithms are the real ones, built from settings; only messages are left out. Stage III of the
study of constants is taken at its limit, the least-squares fit of all data that count, which twenty
rounds reach to many digits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from bench.experiments.arrays import ArrayFederation, array_federation
from server.scores import estimation_error, misclustering
from server.verdicts import verdicts
from server.wiring import algorithm_of
from strategies.aggregation import filtered, mean
from strategies.algorithm import Algorithm, State, ThreeStageAlgorithm
from strategies.clustering import density, random_labels, trimmed_kmeans
from strategies.clustering.density_constants import DEFAULTS, Constants
from strategies.optimisation import GradientStep
from strategies.reply_check import Limits
from strategies.screening import Screening
from tagma.arrays import Array, Labels, Mask
from tagma.settings import compose

_TASK = (
    "task=mixture_regression", "task.dim=100", "attack=poisoned_regression",
    "solver=closed_form", "optimiser=gradient",
)  # fmt: skip
_RESTARTS = 20
_TIMINGS = 3
METHODS = {
    "tagma": ("preset=tagma",),
    "paper": ("preset=paper", "clustering.init=partial"),
    "oracle": ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean"),
}
"""Ours, the paper's with 60 % of the labels given, and the mean without liars."""


def clustering_trial(*, overrides: Sequence[str], constants: bool, seed: int) -> dict[str, Any]:
    """Stage II of one federation, its CPU time and, if asked for, what the constants do to it."""
    federation = array_federation([*_TASK, *overrides, f"seed={seed}"])
    erms, truth = federation.erms, federation.truth
    honest, k = ~federation.byzantine, len(truth.centres)
    initial = random_labels(np.arange(len(erms)), k=k, restarts=_RESTARTS, seed=seed)
    result = _score(federation, DEFAULTS)
    result["seconds"] = _cpu(lambda: density(erms))
    result["seconds, trimmed K-means"] = _cpu(
        lambda: trimmed_kmeans(
            erms, initial, k=k, iterations=20, assumed_fraction=0.35, radius=2.0
        )
    )  # fmt: skip
    if constants:
        result["variants"] = {
            name: _score(federation, changed) for name, changed in _changed(DEFAULTS)
        }
    result["true k"] = k
    result["honest"] = int(honest.sum())
    return result


def estimation_trial(*, overrides: Sequence[str], rounds: int, seed: int) -> dict[str, Any]:
    """Stage III of one federation by all methods, and whether the error bounds of ours cover."""
    common = (*_TASK, *overrides, f"seed={seed}")
    federation = array_federation(common)
    errors, covered = {}, []
    for method, own in METHODS.items():
        algorithm = algorithm_of(compose((*common, *own)))
        state = _descend(algorithm, federation, rounds)
        errors[method] = estimation_error(state.models, federation.truth.centres)
        if method == "tagma":
            covered = _coverage(state, federation.truth.centres)
    return {
        **errors,
        "covered": [error <= bound for error, bound in covered],
        "bound over error": [bound / error for error, bound in covered],
    }


def screening_trial(*, seed: int) -> dict[str, Any]:
    """Liars who pass stage II: 30 % of every cluster send flipped gradients, or nobody does.

    Errors over those of the mean of the others, and the share of honest machines excluded, with
    every constant of stage III as it is, a little and much smaller and larger.
    """
    federation = array_federation([*_TASK, "attack=none", f"seed={seed}"])
    result = {}
    for name, limits, factor, removable in _stage_three():
        for kind, share in (("flipped", 0.3), ("none", 0.0)):
            liars = _first_of_each(federation.truth.labels, share)
            algorithm = ThreeStageAlgorithm(
                cluster=lambda machines, erms: density(erms),
                aggregate=filtered(mean, factor=factor, removable=removable),
                optimiser=GradientStep(step=1.0),
                screening=Screening(quarantine=True, reply_check=True, limits=limits),
            )
            state = _descend(algorithm, federation, 20, flipped=liars)
            error = estimation_error(state.models, federation.truth.centres)
            result[f"{name}, {kind}"] = {
                "ratio": error / _pooled_error(federation, federation.truth.labels, ~liars),
                "honest excluded": float(state.standing.excluded[~liars].mean()),
            }
    return result


def imposter_trial(*, share: float, seed: int) -> dict[str, Any]:
    """Liars that nothing gives away: honest programs on data whose coefficients are shifted.

    They are the given share of one cluster. The shift is the same for all, and half as long as the
    distance of a typical local model from its centre: too short for stage II to see two clusters.
    Their replies agree with what they claim.
    """
    federation = array_federation([*_TASK, "attack=none", f"seed={seed}"])
    truth, erms = federation.truth, federation.erms
    members = np.flatnonzero(truth.labels == 0)
    liars = np.zeros(len(erms), dtype=bool)
    liars[members[: round(share * len(members))]] = True
    scatter = np.median(np.linalg.norm(erms[members] - truth.centres[0], axis=1))
    shift = np.full(erms.shape[1], 0.5 * scatter / np.sqrt(erms.shape[1]))
    moved = replace(
        federation,
        erms=erms + liars[:, None] * shift,
        targets=federation.targets + liars[:, None] * (federation.hessians @ shift),
    )
    errors = {"oracle": _pooled_error(federation, truth.labels, ~liars)}
    for method in ("tagma", "paper"):
        settings = compose((*_TASK, "attack=none", *METHODS[method], f"seed={seed}"))
        state = _descend(algorithm_of(settings), moved, 20)
        errors[method] = estimation_error(state.models, truth.centres)
    return errors


def _descend(
    algorithm: Algorithm, federation: ArrayFederation, rounds: int, flipped: Mask | None = None
) -> State:
    machines = np.arange(len(federation.erms))
    state = algorithm.begin(machines, federation.erms)
    for _ in range(rounds):
        gradients = federation.gradients(state.models[state.labels])
        if flipped is not None:
            gradients[flipped] *= -1
        state = algorithm.advance(state, machines, gradients)
    return state


def _score(federation: ArrayFederation, constants: Constants) -> dict[str, Any]:
    """How good the clusters are, and the error that they lead to over that without liars."""
    found = density(federation.erms, constants=constants)
    honest, truth = ~federation.byzantine, federation.truth
    error = _pooled_error(federation, found.labels, ~found.trimmed)
    return {
        "misclustering": misclustering(found.labels[honest], truth.labels[honest]),
        "k": found.k,
        "ratio": error / _pooled_error(federation, truth.labels, honest),
    }


def _pooled_error(federation: ArrayFederation, labels: Labels, counts: Mask) -> float:
    """The estimation error of one least-squares fit per cluster to all data that count."""
    models = [
        np.linalg.lstsq(federation.hessians[rows].sum(axis=0),
                        federation.targets[rows].sum(axis=0), rcond=None)[0]
        for k in np.unique(labels)
        if (rows := counts & (labels == k)).any()
    ]  # fmt: skip
    return estimation_error(np.array(models), federation.truth.centres)


def _coverage(state: State, centres: Array) -> list[tuple[float, float]]:
    """Error and bound of every cluster."""
    pairs = []
    for model, verdict in zip(
        state.models, verdicts(state, [None] * state.clustering.k), strict=True
    ):
        if verdict["error_bound"] is not None:
            error = np.linalg.norm(centres - model, axis=1).min() / np.sqrt(len(model))
            pairs.append((float(error), float(verdict["error_bound"])))
    return pairs


def _cpu(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_TIMINGS):
        started = process_time()
        work()
        times.append(process_time() - started)
    return median(times)


def _changed(constants: Constants) -> Iterator[tuple[str, Constants]]:
    for field in fields(constants):
        value = getattr(constants, field.name)
        for factor in (0.5, 0.8, 1.25, 2):
            changed = type(value)(value * factor)
            yield f"{field.name} x {factor:g}", replace(constants, **{field.name: changed})


def _stage_three() -> Iterator[tuple[str, Limits, float, float]]:
    limits, factor, removable = Limits(), 1.3, 0.34
    yield "as they are", limits, factor, removable
    for times in (0.5, 0.8, 1.25, 2):
        word = f"x {times:g}"
        for name in ("slant", "ratio", "strikes", "floor"):
            value = getattr(limits, name)
            changed = replace(limits, **{name: type(value)(round(value * times, 6))})
            yield f"{name} {word}", changed, factor, removable
        yield f"factor {word}", limits, factor * times, removable
        yield f"removable {word}", limits, factor, removable * times


def _first_of_each(labels: Labels, share: float) -> Mask:
    """The first machines of every cluster."""
    chosen = np.zeros(len(labels), dtype=bool)
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        chosen[rows[: round(share * len(rows))]] = True
    return chosen
