"""Robust means of (m, d) arrays: pure functions, importable on their own."""

from strategies.aggregation.aggregate import Aggregate, Aggregator
from strategies.aggregation.mean import mean
from strategies.aggregation.median import median
from strategies.aggregation.trimmed_mean import trimmed_mean

__all__ = ["Aggregate", "Aggregator", "mean", "median", "trimmed_mean"]
