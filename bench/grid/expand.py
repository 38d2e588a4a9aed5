"""From a plan to its cells; every setting is checked here, before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import yaml

from tagma.attacks.goal import SUCCESS
from tagma.attacks.local.none import NoAttack
from tagma.bench.federation_cell import FederationCell
from tagma.bench.grid.axis import Plain, Value
from tagma.bench.grid.conditions import holds
from tagma.bench.grid.plan import Plan
from tagma.choices import CONF
from tagma.errors import TagmaError
from tagma.launch.run import check
from tagma.override import key_of
from tagma.plugins import TARGET
from tagma.server.results.score_choice import scores_of_run
from tagma.settings import Settings, compose, compose_seeds

_BASE = ("evaluate=false", "oracle=false", "checkpoint_every=0")
"""What a grid does without, unless the plan says otherwise or its metric needs it."""
_OF_EVERY_ATTACK = ("attack.fraction", "attack.clients", "attack.start", "attack.stop")
"""Settings that an attack takes whether its file names them or not."""
_HONEST = f"{NoAttack.__module__}.{NoAttack.__name__}"


@dataclass(frozen=True)
class GridPoint:
    """One combination and seed: a row of the table."""

    values: Mapping[str, Plain]
    seed: int
    cell: FederationCell
    reference: FederationCell | None


def expand(plan: Plan) -> list[GridPoint]:
    """All points of a grid, in the order of its axes, then by seed."""
    composer = _Composer(plan)
    points: list[GridPoint] = []
    for combination in product(*(axis.values for axis in plan.axes)):
        values = {a.key: v.name for a, v in zip(plan.axes, combination, strict=True)}
        if any(holds(condition, values) for condition in plan.skip):
            continue
        cells = composer.cells(values, _overrides(combination), picture=True)
        references: Sequence[FederationCell | None] = [None] * len(cells)
        if plan.reference:
            pairs = zip(plan.axes, combination, strict=True)
            others = {axis.key: value for axis, value in pairs if axis.role != "defence"}
            names = {key: value.name for key, value in others.items()}
            references = composer.cells(names, (*_overrides([*others.values()]), *plan.reference))
        points += [
            GridPoint(values, seed, cell, reference)
            for seed, cell, reference in zip(plan.seeds, cells, references, strict=True)
        ]
    composer.check_all_used()
    if not points:
        raise TagmaError("bench.skip: leaves nothing of this grid")
    return points


def _overrides(combination: Sequence[Value]) -> tuple[str, ...]:
    return tuple(text for value in combination for text in value.overrides)


def _label(values: Mapping[str, Plain]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


class _Composer:
    """Composes settings, and remembers which of them found no use.

    A setting of a group is for those choices that have it: attack.fraction does not concern
    attack=none, but every attack, also one of the user's own whose file does not name it. A setting
    that no choice of the group has is a mistake.
    """

    def __init__(self, plan: Plan) -> None:
        self._common = _without(_BASE, plan.common) + plan.common
        self._seeds = plan.seeds
        self._name, self._tracked_in = plan.name, plan.folder.absolute() / "tracking"
        self._metric, self._measured = plan.metric, plan.measured
        self._chosen = {key_of(text) for text in plan.common}
        self._made: dict[tuple[bool, tuple[str, ...]], list[FederationCell]] = {}
        self._used: set[str] = set()
        self._unused: dict[str, TagmaError] = {}

    def cells(
        self, values: Mapping[str, Plain], own: Sequence[str], picture: bool = False
    ) -> list[FederationCell]:
        """The cells of all seeds, with the common settings and these.

        Without a picture, which the first has otherwise, they are for reference.
        """
        overrides = (*self._common, *own)
        label = _label(values) if picture else "reference"
        role = "cell" if picture else "reference"
        named = {"grid": self._name, **values, "role": role}
        tags = tuple((key, str(value)) for key, value in named.items())
        if (picture, overrides) not in self._made:
            settings = self._composed(overrides)
            if self._blind(settings[0]):
                settings = self._composed(_evaluating(overrides))
            _check(settings[0])
            self._made[picture, overrides] = [
                FederationCell(
                    label, one.seed, one, picture and one is settings[0], tags, self._tracked_in
                )
                for one in settings
            ]
        return self._made[picture, overrides]

    def _blind(self, settings: Settings) -> bool:
        """Whether clients would have to measure what the grid asks for, and do not by default."""
        if settings.evaluate or "evaluate" in self._chosen:
            return False
        known = {score.name for score in scores_of_run(settings, evaluated=False)}
        metrics = {score.name for score in scores_of_run(settings)}
        if any(name.startswith(SUCCESS) for name in self._measured):
            return bool(metrics - known)  # beside a success rate stands the accuracy of all cells
        return bool(self._measured & (metrics - known)) or (self._metric is None and not known)

    def check_all_used(self) -> None:
        """Raise the error of the first setting that nobody has."""
        for text, error in self._unused.items():
            if text not in self._used and not _known(key_of(text)):
                raise error

    def _composed(self, overrides: tuple[str, ...]) -> list[Settings]:
        try:
            settings = compose_seeds(overrides, self._seeds)
            self._used.update(overrides)
        except TagmaError as error:
            fitting = _fitting(overrides)
            if tuple(fitting.values()) == overrides:
                raise
            settings = compose_seeds(tuple(fitting.values()), self._seeds)
            self._used.update(fitting)
            for text in overrides:
                if text not in fitting:
                    unknown = TagmaError(f"{text}: there is no such setting")
                    self._unused[text] = error if str(error).startswith(text) else unknown
        return settings


def _fitting(overrides: Sequence[str]) -> dict[str, str]:
    """The overrides that the choices made can have, and how they must be written for that."""
    choosing = [t for t in overrides if "." not in key_of(t) or key_of(t).startswith("hydra.")]
    chosen = compose(choosing).groups
    attacks = chosen["attack"].get(TARGET) not in (None, _HONEST)
    fitting = {}
    for text in overrides:
        if _has(chosen, key_of(text)):
            fitting[text] = text
        elif attacks and key_of(text) in _OF_EVERY_ATTACK:
            fitting[text] = f"++{text.lstrip('+')}"
    return fitting


def _has(groups: Mapping[str, Mapping[str, Any]], key: str) -> bool:
    group, _, rest = key.partition(".")
    return group not in groups or not rest or rest.partition(".")[0] in groups[group]


def _known(key: str) -> bool:
    """Whether any choice of the key's group has such a setting."""
    group, _, name = key.partition(".")
    files = (CONF / group).glob("*.yaml")
    return any(name.partition(".")[0] in yaml.safe_load(file.read_text()) for file in files)


def _without(overrides: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    taken = {key_of(text) for text in others}
    return tuple(text for text in overrides if key_of(text) not in taken)


def _evaluating(overrides: Sequence[str]) -> tuple[str, ...]:
    return tuple("evaluate=true" if key_of(text) == "evaluate" else text for text in overrides)


def _check(settings: Settings) -> None:
    engine = str(settings.choice("engine")["_target_"]).removeprefix("tagma.launch.engines.")
    if engine not in ("inprocess.run", "vectorised.run"):
        raise TagmaError("engine: a cell of a grid runs in one process; see bench.runner=ray")
    check(settings)
