"""PoisonedFL (Xie, Fang, Gong, 2025): one direction, the same in every round and for all.

The Byzantine clients agree beforehand on random signs s, and each sends the progress k s, k > 0 in
every coordinate: what single rounds hardly show adds up over rounds. They know nothing of other
clients but the models that they receive. With g how the received model moved in the last round, and
k_0 s what they sent then,

    k = c ||g|| v / ||v||,   v = | g - ||g|| / ||k_0|| k_0 s |,

an estimate of how large honest updates are in each coordinate. Every `every` rounds they look
whether the model has moved along s since: whether more of its coordinates moved to the side of s
than they would by chance, at the level 0.01. If not, a defence stops them, and c becomes 0.7 c, at
least 0.5. They are honest in the first round in which they are asked for updates.
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from scipy.stats import binom

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.parameter_search import Between, Space
from tagma.attacks.threat_model import ThreatModel
from tagma.exchange import FIT, GRADIENT
from tagma.rng import stream

_LEVEL, _SLOWER, _LEAST = 0.01, 0.7, 0.5


class PoisonedFL(LocalAttack):
    """Local: needs no data, only the models that it receives and what it sent itself."""

    threat = ThreatModel("the received model", "its updates")
    published = "Xie et al. 2025"
    remembers = 1
    space: ClassVar[Space] = {"scale": Between(0.5, 32.0)}

    def __init__(
        self,
        *,
        scale: Annotated[float, Gt(0)] = 8.0,
        every: Annotated[int, Ge(1)] = 5,
        direction: Annotated[int, Ge(0)] = 0,
    ) -> None:
        self.scale = scale
        self.every = every
        self.direction = direction

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The magnitudes k along s; against s where updates are gradients."""
        if view.work == FIT or not view.past:
            return honest
        model, _, sent, (scale, _) = _parts(self._adapted(view), view)
        signs, moved = self._signs(len(model)), view.model - model
        length, before = np.linalg.norm(moved), np.linalg.norm(sent)
        honestly = np.abs(moved - (length / before if before else 0.0) * sent)
        size = np.linalg.norm(honestly)
        progress = scale * length * (honestly / size if size else honestly) * signs
        return -progress if view.work == GRADIENT else view.model + progress

    def note(self, honest: Array, sent: Array, view: LocalView) -> Array:
        """Received model, that of the last look, what was sent, the scale and rounds since then."""
        progress = -sent if view.work == GRADIENT else sent - view.model
        if not view.past or np.array_equal(honest, sent):
            return np.concatenate([view.model, view.model, progress, [self.scale, 0]])
        _, looked, _, state = _parts(self._adapted(view), view)
        return np.concatenate([view.model, looked, progress, state])

    def _adapted(self, view: LocalView) -> Array:
        """The last note, with the scale and the rounds since the last look brought up to date."""
        model, looked, sent, (scale, rounds) = _parts(view.past[-1], view)
        rounds += 1
        if rounds >= self.every:
            along = int((np.sign(view.model - looked) == self._signs(len(model))).sum())
            if binom.sf(along - 1, len(model), 0.5) > _LEVEL:
                scale = max(_LEAST, _SLOWER * scale)
            looked, rounds = view.model, 0
        return np.concatenate([model, looked, sent, [scale, rounds]])

    def _signs(self, size: int) -> Array:
        return stream(self.direction, "poisonedfl").choice([-1.0, 1.0], size)


def _parts(note: Array, view: LocalView) -> list[Array]:
    return np.split(note, len(view.model) * np.arange(1, 4))
