"""`tagma bench agreement`: byzfl's aggregators and attacks beside ours, on the same input.

Where both have a statistic, with the same settings it must be the same vector. Where conventions
differ, theirs is expressed in our settings if it can be, or the difference is shown and explained.
Left out is what draws random numbers as its result, and byzfl's optimal attacks: they look for the
largest distance from the honest mean, ours for the largest served error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from tagma.arrays import Array
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.omniscient.alie import ALittleIsEnough
from tagma.attacks.omniscient.ipm import InnerProductManipulation
from tagma.attacks.omniscient.mimic import Mimic
from tagma.bench.speed.byzfl_import import byzfl_module
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console
from tagma.strategies import aggregation as ours

_ABOUT = """byzfl's aggregators and attacks beside ours: largest differences on the same vectors.

Needs byzfl, anywhere on PYTHONPATH: pip install --no-deps --target FOLDER byzfl==0.0.11
  PYTHONPATH=FOLDER tagma bench agreement
Fails where what should be the same differs by more than 1e-6 of the size of the rows."""

BOUND = 1e-6
"""In times of the root mean square of the rows' entries; the geometric medians are that exact."""
_SHAPES = ((11, 2, 40), (12, 3, 7), (15, 4, 200))
"""Rows, Byzantine ones and columns."""


@dataclass(frozen=True)
class Pair:
    """The same statistic, twice."""

    name: str
    theirs: Callable[[Array], Any]
    ours: Callable[[Array], Array]
    convention: str = ""
    """What differs between the two."""
    same: bool = True
    """Whether they should agree."""


def main(arguments: list[str]) -> None:
    """Print the largest difference of each, and fail where there should be none."""
    line = CommandLine("bench agreement", _ABOUT)
    line.add_argument(
        "--seeds", type=at_least(1), default=20, help="inputs of each shape (default: %(default)s)"
    )
    seeds = line.read(arguments).seeds
    try:
        byzfl = byzfl_module()
    except ImportError as error:
        raise TagmaError(f"no byzfl ({error}); see tagma bench agreement --help") from None
    found = differences(byzfl, seeds)
    _print(found)
    if missed := [pair.name for pair, apart in found if pair.same and not apart <= BOUND]:
        raise TagmaError(f"not the same as byzfl's: {', '.join(missed)}")


def differences(byzfl: Any, seeds: int) -> list[tuple[Pair, float]]:
    """Every statistic and its largest difference over all inputs, in times of the rows' size."""
    largest: dict[str, tuple[Pair, float]] = {}
    for m, f, d in _SHAPES:
        for seed in range(seeds):
            rows = _rows(m, f, d, seed)
            size = float(np.sqrt(np.mean(rows**2)))
            for pair in _pairs(byzfl, m, f):
                theirs = np.asarray(pair.theirs(rows.copy()))  # some of theirs change their input
                apart = float(np.abs(theirs - pair.ours(rows)).max()) / size
                before = largest.get(pair.name, (pair, 0.0))[1]
                largest[pair.name] = (pair, max(before, apart))
    return list(largest.values())


def _rows(m: int, f: int, d: int, seed: int) -> Array:
    random = np.random.default_rng(seed)
    rows = random.normal(1, 1, size=(m, d))
    rows[:f] = 5 * random.normal(size=(f, d))
    return rows


def _pairs(byzfl: Any, m: int, f: int) -> Iterator[Pair]:
    share = (f + 0.5) / m  # of which the floor is f
    less = (f - 0.5) / m
    zero = {"centre": np.zeros(0)}

    def clipped(rows: Array) -> Array:
        zero["centre"] = np.zeros(rows.shape[1])
        return ours.centered_clipping(
            rows, radius=3.0, steps=4, start="previous", memory=zero
        ).estimate

    yield Pair("Average", byzfl.Average(), lambda x: ours.mean(x).estimate)
    yield Pair("Median", byzfl.Median(), lambda x: ours.median(x).estimate)
    yield Pair("TrMean", byzfl.TrMean(f=f), lambda x: ours.trimmed_mean(x, beta=share).estimate)
    yield Pair("Meamed", byzfl.Meamed(f=f), lambda x: ours.meamed(x, fraction=share).estimate)
    yield Pair(
        "GeometricMedian", byzfl.GeometricMedian(nu=1e-9, T=2000),
        lambda x: ours.geometric_median(x).estimate, "theirs with nu=1e-9 and 2000 steps",
    )  # fmt: skip
    yield Pair(
        "GeometricMedian as it is", byzfl.GeometricMedian(),
        lambda x: ours.geometric_median(x).estimate,
        "theirs takes 3 steps from 0, ours goes to 1e-6 of the minimum", same=False,
    )  # fmt: skip
    yield Pair(
        "Krum", byzfl.Krum(f=f), lambda x: ours.krum(x, fraction=less).estimate,
        "theirs scores by m - f - 1 others, the paper and ours by m - f - 2: ours with f - 1",
    )  # fmt: skip
    yield Pair(
        "MultiKrum", byzfl.MultiKrum(f=f), lambda x: ours.multi_krum(x, fraction=share).estimate,
        "scores as in Krum, so rows at the edge may be others", same=False,
    )  # fmt: skip
    yield Pair(
        "CenteredClipping", byzfl.CenteredClipping(L=4, tau=3.0), clipped,
        "starts from 0: ours with start=previous and a memory of 0",
    )  # fmt: skip
    yield Pair("MDA", byzfl.MDA(f=f), lambda x: ours.mda(x, fraction=share).estimate)
    yield Pair(
        "MoNNA", byzfl.MoNNA(f=f, idx=f),
        lambda x: ours.monna(x, fraction=share, reference=x[f]).estimate,
        "trusts a row by its number: ours with that row as the reference",
    )  # fmt: skip
    yield Pair(
        "CAF", byzfl.CAF(f=f), lambda x: ours.caf(x, fraction=share).estimate,
        "theirs takes one power step from a random vector, ours the eigenvector", same=False,
    )  # fmt: skip
    yield Pair(
        "SMEA", byzfl.SMEA(f=f), lambda x: ours.smea(x, fraction=share).estimate,
        "likewise: theirs may choose other rows, and others every time", same=False,
    )  # fmt: skip
    yield Pair("NNM", byzfl.NNM(f=f), lambda x: ours.nnm(x, fraction=share).rows)
    yield Pair("Clipping", byzfl.Clipping(c=2.0), lambda x: ours.clipping(x, radius=2.0).rows)
    yield Pair("ARC", byzfl.ARC(f=f), lambda x: ours.arc(x, fraction=share).rows)
    yield Pair(
        "Bucketing", lambda x: byzfl.Bucketing(s=1)(x).mean(axis=0),
        lambda x: ours.bucketing(x, size=1).rows.mean(axis=0),
        "groups are drawn at random: the mean of buckets of one row",
    )  # fmt: skip
    yield Pair(
        "SignFlipping", byzfl.SignFlipping(),
        lambda x: forged(InnerProductManipulation(scale=1), x),
        "of the mean: our ipm with scale 1; our sign_flip is of the client's own update",
    )  # fmt: skip
    yield Pair(
        "InnerProductManipulation", byzfl.InnerProductManipulation(tau=2.0),
        lambda x: forged(InnerProductManipulation(scale=2), x),
    )  # fmt: skip
    yield Pair(
        "ALittleIsEnough", byzfl.ALittleIsEnough(tau=-1.5),
        lambda x: forged(ALittleIsEnough(z=1.5), x),
        "theirs adds deviations, the paper and ours subtract them: theirs with -tau",
    )  # fmt: skip
    yield Pair("Mimic", byzfl.Mimic(epsilon=3), lambda x: forged(Mimic(which=3), x))


def forged(attack: OmniscientAttack, honest: Array) -> Array:
    """What one Byzantine client sends against these gradients of one cluster, shape (d,)."""
    h, d = honest.shape
    none = np.zeros((0, d))
    view = FederationView(
        round=2,
        work="gradient",
        honest=honest,
        own=np.zeros((1, d)),
        models=np.zeros((1, d)),
        honest_rows=np.zeros(h, dtype=np.int64),
        own_rows=np.zeros(1, dtype=np.int64),
        honest_groups=np.zeros(h, dtype=np.int64),
        own_groups=np.zeros(1, dtype=np.int64),
        clients=np.array([h]),
        random=np.random.default_rng(0),
        rehearse=lambda _: 0.0,
        honest_claims=none,
        claims=none,
        as_claimed=lambda: none,
    )
    return attack.forge(view)[0]


def _print(found: list[tuple[Pair, float]]) -> None:
    caption = "Largest difference to byzfl's, in times of the size of the rows' entries"
    table = Table(title=caption, title_justify="left")
    table.add_column("byzfl's", no_wrap=True)
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column("what differs")
    for pair, apart in found:
        table.add_row(pair.name, f"{apart:.1e}" if apart else "0", pair.convention)
    console.print(table)
