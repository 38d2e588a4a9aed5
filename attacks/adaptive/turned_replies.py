"""How well updates agree with local models, and updates that agree just as well as is wanted.

An honest client's gradient at w points away from its local model c, but for an angle: along w - c,
turned by the client's own Hessian; by 35 degrees where least squares have twice as many examples as
coefficients, by none where they have many. So turned updates are in good company, and those who
turn to the same side move a model.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.exchange import GRADIENT

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Agreement:
    """Of r updates with the local models of their clients."""

    angles: Array
    """Between each and the way from the local model to the received model, in degrees, (r,)."""
    ratios: Array
    """Of their lengths, shape (r,)."""


def agreement(claimed: Array, directions: Array) -> Agreement:
    """Of directions, as gradients are, with received minus local models, both of shape (r, d)."""
    cosines = np.einsum("ij,ij->i", unit(claimed), unit(directions))
    lengths = np.linalg.norm(claimed, axis=1), np.linalg.norm(directions, axis=1)
    ratios = lengths[1] / np.where(lengths[0] > 0, lengths[0], 1)
    return Agreement(np.degrees(np.arccos(np.clip(cosines, -1, 1))), ratios)


def of_honest(view: FederationView) -> Agreement:
    """Of all honest clients in a round."""
    directions = view.honest if view.work == GRADIENT else view.honest_models - view.honest
    return agreement(view.honest_models - view.honest_claims, directions)


def turned(claimed: Array, sideways: Array, angle: float, ratio: float) -> Array:
    """Directions at this angle to the claimed ones, towards `sideways`, so many times as long.

    Where `sideways` says nothing, because it is along the claimed direction, they are not turned.
    """
    ahead, sideways = unit(claimed), unit(sideways)
    aside = sideways - np.einsum("ij,ij->i", sideways, ahead)[:, None] * ahead
    says = np.linalg.norm(aside, axis=1, keepdims=True) > _ROUNDING
    aside, radians = unit(aside), np.where(says, np.radians(angle), 0.0)
    lengths = ratio * np.linalg.norm(claimed, axis=1)[:, None]
    found: Array = lengths * (np.cos(radians) * ahead + np.sin(radians) * aside)
    return found


def unit(rows: Array) -> Array:
    """Rows of length 1; zeros stay."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    found: Array = rows / np.where(lengths > 0, lengths, 1)
    return found
