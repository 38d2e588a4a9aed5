"""Plugins that installed packages offer as entry points, each a choice of a group of conf/.

A package declares, for example, `[project.entry-points."tagma.rules"]` with `midrange =
"their_package.rules:midrange"`. Finding these reads the metadata of installed packages and imports
nothing; a plugin is imported when it is chosen, or shown by `tagma list`. The working folder is no
place where packages are installed, so what lies there offers nothing.
"""

import inspect
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any

import yaml

from tagma.errors import TagmaError
from tagma.plugins import TARGET, locate

DECLARED = {
    "attack": "attacks",
    "aggregation": "rules",
    "clustering": "clusterings",
    "strategy": "algorithms",
    "task": "tasks",
}
"""By the configuration's groups, what their entry points are declared as, after `tagma.`."""
_GIVEN = {
    "aggregation": ("clients", "weights", "reference", "memory"),
    "strategy": ("aggregate", "cluster", "optimiser", "seed"),
    "task": ("seed", "device", "model"),
}
"""What the program gives itself, as parameters of these names."""
_BESIDE: dict[str, dict[str, Any]] = {
    "attack": {"defaults": ["_byzantine", "_self_"]},
    "aggregation": {"pre": []},
}
"""What every choice of a group has."""
_START = {"init": "restarts", "restarts": 40, "correct": 0.6, "extra_clusters": 0}
"""What a clustering has that is given initial labels."""
_NAME = re.compile(r"[A-Za-z][\w-]*")
_VALUE = re.compile(r"[\w.]+:\w+")


@dataclass(frozen=True)
class Offer:
    """A plugin that a package offers by a name; it may not be there."""

    group: str
    name: str
    value: str
    """Where it is, as module:attribute."""
    package: str
    """Its name and version."""

    @property
    def target(self) -> str:
        """Where it is, as settings say it."""
        return self.value.replace(":", ".")

    @property
    def fault(self) -> str | None:
        """What is wrong with the declaration itself."""
        if not _NAME.fullmatch(self.name):
            return "this is no name for a choice"
        if not _VALUE.fullmatch(self.value):
            return f"it is declared as {self.value:.100}, not as module:name"
        return None

    def configuration(self) -> str:
        """The choice as a file of conf/ would have it, by its signature; this imports it."""
        plugin = self.located()
        lines = [f"# {_about(plugin)}"]
        for key, value in {**_BESIDE.get(self.group, {}), TARGET: self.target}.items():
            lines.append(f"{key}: {_yaml(value)}")
        for key, value in self._settings(plugin).items():
            try:
                lines.append(f"{key}: {_yaml(value)}")
            except yaml.YAMLError:  # only Python can say it
                continue
        return "\n".join(lines) + "\n"

    def located(self) -> Any:
        """The class or function, imported; an error of one line says which package is broken."""
        try:
            return locate(self.target, self.name)
        except TagmaError as problem:
            why = " ".join(str(problem).partition(": ")[2].split())
            said = f"{self.group}={self.name}: what {self.package} offers {why}"
            raise TagmaError(said) from None

    def _settings(self, plugin: Any) -> dict[str, Any]:
        """Its keyword-only parameters by name, `???` for those without a default."""
        parameters = inspect.signature(plugin).parameters.values()
        own = {
            each.name: "???" if each.default is each.empty else each.default
            for each in parameters
            if each.kind is each.KEYWORD_ONLY and each.name not in _GIVEN.get(self.group, ())
        }
        positional = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
        if self.group == "clustering" and len(positional) > 1:  # the initial labels
            own = {**_START, **own, "k": own.get("k", "???")}
        return own


def offers(group: str) -> list[Offer]:
    """What installed packages offer for a group, in the order in which Python looks for them."""
    here = os.getcwd()
    places = [place for place in sys.path if place and os.path.abspath(place) != here]
    return [offer for offer in _offers(tuple(places)) if offer.group == group]


@lru_cache(maxsize=8)
def _offers(places: tuple[str, ...]) -> tuple[Offer, ...]:
    found = [o for package in distributions(path=list(places)) for o in _of(package)]
    return tuple({(o.group, o.name, o.package): o for o in reversed(found)}.values())[::-1]


def _of(package: Distribution) -> Iterator[Offer]:
    groups = {f"tagma.{declared}": group for group, declared in DECLARED.items()}
    try:
        text = package.read_text("entry_points.txt") or ""
        if not any(declared in text for declared in groups):
            return
        named = f"{package.metadata['Name']} {package.version}"
        points: list[EntryPoint] = list(package.entry_points)
    except Exception:  # a package whose metadata are damaged offers nothing
        return
    for point in points:
        if point.group in groups:
            yield Offer(groups[point.group], point.name, point.value.strip(), named)


def _about(plugin: Any) -> str:
    lines = (inspect.getdoc(plugin) or "").splitlines()
    return lines[0] if lines else "No description."


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).removesuffix("...\n").strip()
