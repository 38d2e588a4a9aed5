"""The search for the worst that one attack can do to one defence, at one share of the clients.

Harm is the served error over that of a federation without Byzantine clients. Searched are the
parameters that the attack declares (`tagma.attacks.parameter_search`). A try is one whole run, so
that attacks are found that pay off late; the worst few tries are then compared on more seeds, since
one seed is noisy. Who runs the tries is left to the caller: `ask` what to run, `tell` what it did.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from tagma.attacks.adversary import adversary_of
from tagma.attacks.parameter_search import Between, OneOf, Point, Search, Space
from tagma.attacks.schedule import Phase
from tagma.errors import TagmaError
from tagma.launch.run import check
from tagma.override import key_of
from tagma.rng import stream
from tagma.settings import Settings, compose

_RUN = ("oracle=false", "evaluate=false", "checkpoint_every=0")
_ORACLE = ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean")
_DEFENCE = ("preset", "strategy", "clustering", "aggregation")
_FINALISTS = 5
"""So many tries are compared on all seeds."""
_LEAST, _MOST = 1e-9, 1e9
"""Ratios beyond this count as this in a search."""
_LATER = "later."
"""Before the parameters of what an attack does later."""


@dataclass
class Hunt:
    """What was tried, and what it did."""

    name: str
    alpha: str
    attacked: Settings
    """Of a run with the parameters that were given."""
    oracle: Settings
    """Of one that knows the clusters and has no Byzantine clients."""
    search: Search
    seeds: range
    """Of the tries; all but the first are the finalists' alone."""
    ratios: list[list[float]] = field(default_factory=list)
    """What every try did, by seed."""
    _asked: list[int] = field(default_factory=list)
    _compared: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        alpha: str,
        overrides: Sequence[str],
        *,
        tries: int,
        seeds: range,
        ranges: Sequence[str] = (),
    ) -> "Hunt":
        """NAME, or NAME+LATER for what it does later; `ranges` narrow the search."""
        first, _, then = name.partition("+")
        plain = (f"attack={first}", f"attack.fraction={alpha}")
        later = [f"attack.later={then}"] if then else []
        attacked = compose([*_RUN, *overrides, *plain, *later])
        check(attacked)
        space: dict[str, Between | OneOf] = {}
        given: dict[str, Any] = {}
        for phase in adversary_of(attacked).squads[0].phases:
            prefix = "" if phase.key == "attack" else _LATER
            for parameter, where in _space_of(phase).items():
                value = getattr(phase.attack, parameter)
                narrowed = _narrowed(parameter, where, ranges)
                if narrowed is not where:
                    value = narrowed.at(narrowed.place(value))
                space[prefix + parameter], given[prefix + parameter] = narrowed, value
        random = stream(seeds.start, "adaptive", *f"{name} {alpha}".encode())
        task = [text for text in overrides if key_of(text).partition(".")[0] not in _DEFENCE]
        oracle = compose([*_RUN, *task, *plain, *_ORACLE])
        return cls(name, alpha, attacked, oracle, Search(space, given, tries, random), seeds)

    def ask(self, count: int) -> tuple[list[Point], range]:
        """What to run next, at most so many tries, and on which seeds; nothing at the end."""
        if points := self.search.ask(count):
            first = len(self.ratios)
            self._asked = list(range(first, first + len(points)))
            self.ratios += [[] for _ in points]
            return points, self.seeds[:1]
        if self._compared or len(self.seeds) == 1 or len(self.ratios) == 1:  # nothing to choose
            return [], self.seeds[:0]
        self._asked, self._compared = self.finalists, True
        return [self.search.points[number] for number in self._asked], self.seeds[1:]

    def tell(self, ratios: Sequence[Sequence[float]]) -> None:
        """The ratios of what was asked last, by seed."""
        for number, found in zip(self._asked, ratios, strict=True):
            self.ratios[number] += found
        if len(self.search.harms) < len(self.ratios):
            self.search.tell([harm(found) for found in ratios])

    @property
    def finalists(self) -> list[int]:
        """The numbers of the worst tries on the first seed, the worst first."""
        harms = self.search.harms
        return sorted(range(len(harms)), key=lambda number: -harms[number])[:_FINALISTS]

    @property
    def worst(self) -> int:
        """The number of the worst try on all seeds."""
        return max(self.finalists, key=lambda number: harm(self.ratios[number]))

    def settings(self, point: Point, seed: int) -> Settings:
        """Of a run with these parameters."""
        own, later = self._attack(point)
        attack = {**self.attacked.choice("attack"), **own, **({"later": later} if later else {})}
        overrides = (*self.attacked.overrides, *self.overrides(point)[2:], f"seed={seed}")
        groups = {**self.attacked.groups, "attack": attack}
        changed = {"groups": groups, "seed": seed, "overrides": overrides}
        return self.attacked.model_copy(update=changed)

    def overrides(self, point: Point) -> list[str]:
        """The settings of the attack with these parameters."""
        own, later = self._attack(point)
        found = [f"attack={self.name.partition('+')[0]}", f"attack.fraction={self.alpha}"]
        found += [f"attack.{name}={_text(value)}" for name, value in own.items()]
        inside = ",".join(f"{name}:{_text(value)}" for name, value in later.items())
        return [*found, f"attack.later={{{inside}}}"] if later else found

    def _attack(self, point: Point) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters of the attack, and all of what it does later; three digits are enough."""
        told = self.attacked.choice("attack").get("later")
        later = {"name": told} if isinstance(told, str) else dict(told or {})
        own: dict[str, Any] = {}
        for name, value in point.items():
            rounded = float(f"{value:.3g}") if isinstance(value, float) else value
            if name.startswith(_LATER):
                later[name.removeprefix(_LATER)] = rounded
            else:
                own[name] = rounded
        return own, later


def with_seed(settings: Settings, seed: int) -> Settings:
    """The same with another seed."""
    overrides = (*settings.overrides, f"seed={seed}")
    return settings.model_copy(update={"seed": seed, "overrides": overrides})


def harm(ratios: Sequence[float]) -> float:
    """Of several seeds; one that diverged must not decide alone."""
    return float(np.exp(np.log(np.clip(ratios, _LEAST, _MOST)).mean()))


def _space_of(phase: Phase) -> Space:
    """What the attack declares; of one with a line search of its own, whether to use it."""
    attack = phase.attack
    space = {**getattr(attack, "space", {}), **getattr(attack, "over_rounds", {})}
    if not space and hasattr(attack, "optimise"):
        return {"optimise": OneOf((False, True))}
    return space


def _narrowed(name: str, where: Between | OneOf, ranges: Sequence[str]) -> Between | OneOf:
    for text in ranges:
        named, _, limits = text.partition("=")
        try:
            low, high = map(float, limits.split(":"))
        except ValueError:
            low, high = inf, -inf
        if low > high:
            raise TagmaError(f"--range {text}: must be like scatter=0.1:0.5")
        if named == name and isinstance(where, Between):
            return replace(where, low=low, high=high)
    return where


def _text(value: Any) -> str:
    """A value as Hydra reads it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3g}" if isinstance(value, float) else str(value)
