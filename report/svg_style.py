"""The style of an element of our figures: as much of CSS as their style sheet uses.

Rules have lists of selectors of elements and classes, also below others; the more particular rule
wins, of equals the later one. What is for a pointer (`:hover`) is no style of a printed figure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

INHERITED = frozenset({
    "color", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray",
    "stroke-linejoin", "text-anchor", "font-weight", "paint-order",
})  # fmt: skip
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
Simple = tuple[str, frozenset[str]]
"""An element's name, or none, and its classes."""


@dataclass(frozen=True)
class _Rule:
    chain: tuple[Simple, ...]
    values: Mapping[str, str]

    @cached_property
    def weight(self) -> tuple[int, int]:
        return sum(len(classes) for _, classes in self.chain), sum(bool(n) for n, _ in self.chain)

    def fits(self, path: Sequence[Simple]) -> bool:
        """Whether it is about the last element of the path from the root."""
        if not _is(self.chain[-1], path[-1]):
            return False
        above = iter(reversed(path[:-1]))
        return all(any(_is(one, element) for element in above) for one in self.chain[-2::-1])


class StyleSheet:
    """The rules of a style sheet."""

    def __init__(self, css: str) -> None:
        self._rules = sorted(_rules(css), key=lambda rule: rule.weight)

    def of(self, path: Sequence[Simple], inherited: Mapping[str, str]) -> dict[str, str]:
        """The style of the last element of a path, given what the one above it has."""
        found = {name: value for name, value in inherited.items() if name in INHERITED}
        for rule in self._rules:
            if rule.fits(path):
                found |= rule.values
        return found


def _rules(css: str) -> Iterator[_Rule]:
    for selectors, body in _RULE.findall(re.sub(r"/\*.*?\*/", "", css, flags=re.S)):
        pairs = (part.partition(":") for part in body.split(";") if ":" in part)
        values = {name.strip(): value.strip() for name, _, value in pairs}
        for selector in selectors.split(","):
            if ":" not in selector:
                yield _Rule(tuple(map(_simple, selector.split())), values)


def _simple(text: str) -> Simple:
    name, *classes = text.split(".")
    return name, frozenset(classes)


def _is(wanted: Simple, element: Simple) -> bool:
    return wanted[0] in ("", element[0]) and wanted[1] <= element[1]
