"""Attacks that look for their own parameters in the middle of a run (`optimise=true`).

Before they send anything they try at most 20 sets of parameters on the defence that is running,
from its present state, and send what leads to the largest served error after this round. In round
1 each try is a whole clustering, whose centres are then served: what honest clients answer later is
not rehearsed. So an attack that pays off over many rounds is better searched with whole runs, by
`tagma bench adaptive`.
"""

from copy import copy
from typing import ClassVar, Self

from tagma.arrays import Array
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.parameter_search import Point, Search, Space, most_harmful

_TRIES = 20


class SearchingAttack(OmniscientAttack):
    """An attack whose parameters can be searched. Each is an attribute of the same name."""

    space: ClassVar[Space] = {}
    """Those that are searched, and where."""
    over_rounds: ClassVar[Space] = {}
    """Those whose harm no single round shows, so that only `tagma bench adaptive` searches them."""
    optimise: bool = False

    def sent(self, view: FederationView) -> Array:
        """What the Byzantine clients send with these parameters, shape (b, d)."""
        raise NotImplementedError

    def forge(self, view: FederationView) -> Array:
        """With the parameters of the settings, or the most harmful ones."""
        if not (self.optimise and self.searches(view)):
            return self.sent(view)
        before = view.random.bit_generator.state

        def under(point: Point) -> Array:
            view.random.bit_generator.state = before  # every try with the same random numbers
            return self.with_parameters(point).sent(view)

        given = {name: getattr(self, name) for name in self.space}
        search = Search(self.space, given, _TRIES, view.random.spawn(1)[0])
        return under(most_harmful(search, lambda point: view.rehearse(under(point))))

    def searches(self, view: FederationView) -> bool:
        """Whether the parameters matter in this round."""
        return True

    def with_parameters(self, point: Point) -> Self:
        """The same attack with other parameters."""
        other = copy(self)
        for name, value in point.items():
            setattr(other, name, value)
        return other
