"""Robust means of (m, d) arrays: pure functions, importable on their own.

from strategies.aggregation import nnm, trimmed_mean
trimmed_mean(rows, beta=0.2).estimate
trimmed_mean(nnm(rows, fraction=0.2).rows, beta=0.2).estimate
"""

from strategies.aggregation.aggregate import Aggregate, Aggregator
from strategies.aggregation.arc import arc
from strategies.aggregation.bucketing import bucketing
from strategies.aggregation.bulyan import bulyan
from strategies.aggregation.caf import caf
from strategies.aggregation.centered_clipping import centered_clipping
from strategies.aggregation.cge import cge
from strategies.aggregation.clipping import clipping
from strategies.aggregation.compose import compose
from strategies.aggregation.dnc import dnc
from strategies.aggregation.filtered import filtered
from strategies.aggregation.geometric_median import geometric_median
from strategies.aggregation.iterative_filtering import iterative_filtering
from strategies.aggregation.krum import krum, multi_krum
from strategies.aggregation.mda import mda
from strategies.aggregation.meamed import meamed
from strategies.aggregation.mean import mean
from strategies.aggregation.median import median
from strategies.aggregation.mixing import Mixed, PreAggregator
from strategies.aggregation.monna import monna
from strategies.aggregation.nnm import nnm
from strategies.aggregation.signguard import signguard
from strategies.aggregation.smea import smea
from strategies.aggregation.spectral_filter import Filtered, spectral_filter
from strategies.aggregation.trimmed_mean import trimmed_mean

__all__ = [
    "Aggregate",
    "Aggregator",
    "Filtered",
    "Mixed",
    "PreAggregator",
    "arc",
    "bucketing",
    "bulyan",
    "caf",
    "centered_clipping",
    "cge",
    "clipping",
    "compose",
    "dnc",
    "filtered",
    "geometric_median",
    "iterative_filtering",
    "krum",
    "mda",
    "meamed",
    "mean",
    "median",
    "monna",
    "multi_krum",
    "nnm",
    "signguard",
    "smea",
    "spectral_filter",
    "trimmed_mean",
]
