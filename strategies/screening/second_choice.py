"""Clients who may be of several clusters: their own data say of which.

With few examples, noise alone may put a local model nearer to another cluster's centre. The
client's data know better: at a model w with the gradient H_i (w - w_i) its loss exceeds its least
by half of e = (w - w_i) . H_i (w - w_i), whatever its inputs are. A client in doubt gets the model
of another such cluster in every round, and then belongs where its loss is least. Its replies do
not count until then.

At the model of its own cluster d / e is about the number of examples over the variance of the
noise, so that d (e' / e - 1) is twice the logarithm of the odds against another one, where it is
e'. Where these are short the client stays in doubt, which is a warning.

It is nobody's place but the client's own that its replies decide. Cost O(m d) in a round in which
anybody is in doubt.
"""

from dataclasses import dataclass, replace
from math import log

import numpy as np

from tagma.arrays import Array, Labels, Mask

_UNTRIED = -1.0
_MATERIAL = 0.1
"""The probability of a wrong cluster that is worth a warning."""


@dataclass(frozen=True)
class SecondChoice:
    """What is known of those in doubt."""

    excess: Array
    """Every client's loss at every cluster's model over its least, twice, shape (m, K).

    Negative: not tried yet; infinite: it is not of that cluster.
    """

    @classmethod
    def of(cls, between: Mask) -> "SecondChoice":
        """Before any reply."""
        return cls(np.where(between, _UNTRIED, np.inf))

    @property
    def open(self) -> Mask:
        """Who has clusters to try, shape (m,)."""
        untried: Mask = self.excess.min(axis=1) < 0
        return untried

    def doubtful(self, dimension: int) -> Mask:
        """Who may be in the wrong cluster for all that is known, shape (m,)."""
        if self.excess.shape[1] < 2:
            return self.open
        least, next_one = np.sort(self.excess, axis=1)[:, :2].T
        near = next_one < least * (1 + 2 * log(1 / _MATERIAL) / dimension)
        return self.open | (np.isfinite(least) & near)

    def with_newcomer(self, row: int) -> "SecondChoice":
        """The same with one more client, which is in no doubt, before that row."""
        return SecondChoice(np.insert(self.excess, row, np.inf, axis=0))

    def after(
        self, labels: Labels, rows: Labels, gaps: Array, directions: Array
    ) -> tuple[Labels, "SecondChoice"]:
        """The labels and what is open, after replies of these rows.

        `gaps` are the models that they received minus their local models, `directions` the
        gradients there, both of shape (r, d).
        """
        asked = np.flatnonzero(self.open[rows])
        rows, labels, excess = rows[asked], labels.copy(), self.excess.copy()
        now = np.einsum("ij,ij->i", gaps[asked], directions[asked])
        excess[rows, labels[rows]] = np.maximum(now, 0)
        labels[rows] = excess[rows].argmin(axis=1)  # what is not tried yet, or else the best
        return labels, replace(self, excess=excess)
