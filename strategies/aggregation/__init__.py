"""Robust means of (m, d) arrays: pure functions, importable on their own.

from tagma.strategies.aggregation import nnm, trimmed_mean
trimmed_mean(rows, beta=0.2).estimate
trimmed_mean(nnm(rows, fraction=0.2).rows, beta=0.2).estimate
"""

from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator, Memory
from tagma.strategies.aggregation.bulyan import bulyan
from tagma.strategies.aggregation.caf import caf
from tagma.strategies.aggregation.centered_clipping import centered_clipping
from tagma.strategies.aggregation.central_half import central_half
from tagma.strategies.aggregation.cge import cge
from tagma.strategies.aggregation.dnc import dnc
from tagma.strategies.aggregation.flame import flame
from tagma.strategies.aggregation.fldetector import fldetector
from tagma.strategies.aggregation.fltrust import fltrust
from tagma.strategies.aggregation.foolsgold import foolsgold
from tagma.strategies.aggregation.geometric_median import geometric_median
from tagma.strategies.aggregation.iterative_filtering import iterative_filtering
from tagma.strategies.aggregation.krum import krum, multi_krum
from tagma.strategies.aggregation.lasa import lasa
from tagma.strategies.aggregation.mda import mda
from tagma.strategies.aggregation.meamed import meamed
from tagma.strategies.aggregation.mean import mean
from tagma.strategies.aggregation.median import median
from tagma.strategies.aggregation.monna import monna
from tagma.strategies.aggregation.norm_clipping import norm_clipping
from tagma.strategies.aggregation.pre.arc import arc
from tagma.strategies.aggregation.pre.bucketing import bucketing
from tagma.strategies.aggregation.pre.clipping import clipping
from tagma.strategies.aggregation.pre.nnm import nnm
from tagma.strategies.aggregation.pre.pre_aggregator import Mixed, PreAggregator
from tagma.strategies.aggregation.pre.with_pre_aggregators import with_pre_aggregators
from tagma.strategies.aggregation.pre.with_spectral_filter import with_spectral_filter
from tagma.strategies.aggregation.rlr import rlr
from tagma.strategies.aggregation.signguard import signguard
from tagma.strategies.aggregation.smea import smea
from tagma.strategies.aggregation.trimmed_mean import trimmed_mean
from tagma.strategies.numerics.spectral_filter import Filtered, spectral_filter

__all__ = [
    "Aggregate",
    "Aggregator",
    "Filtered",
    "Memory",
    "Mixed",
    "PreAggregator",
    "arc",
    "bucketing",
    "bulyan",
    "caf",
    "centered_clipping",
    "central_half",
    "cge",
    "clipping",
    "dnc",
    "flame",
    "fldetector",
    "fltrust",
    "foolsgold",
    "geometric_median",
    "iterative_filtering",
    "krum",
    "lasa",
    "mda",
    "meamed",
    "mean",
    "median",
    "monna",
    "multi_krum",
    "nnm",
    "norm_clipping",
    "rlr",
    "signguard",
    "smea",
    "spectral_filter",
    "trimmed_mean",
    "with_pre_aggregators",
    "with_spectral_filter",
]
