"""Robust means of (m, d) arrays: pure functions, importable on their own."""

from strategies.aggregation.aggregate import Aggregate, Aggregator
from strategies.aggregation.filtered import filtered
from strategies.aggregation.iterative_filtering import iterative_filtering
from strategies.aggregation.mean import mean
from strategies.aggregation.median import median
from strategies.aggregation.spectral_filter import Filtered, spectral_filter
from strategies.aggregation.trimmed_mean import trimmed_mean

__all__ = [
    "Aggregate",
    "Aggregator",
    "Filtered",
    "filtered",
    "iterative_filtering",
    "mean",
    "median",
    "spectral_filter",
    "trimmed_mean",
]
