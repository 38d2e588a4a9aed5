"""Files and values that are almost what they should be, for hypothesis."""

import json
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagma.errors import TagmaError

EXAMPLES = pytest.mark.parametrize("examples", [1, pytest.param(40, marks=pytest.mark.full)])
"""How many times as many examples as in every run of the tests."""
_INTERESTING = (b"\0", b"\xff", b"-1", b"nan", b"1e999", b"\n", b",", b'"', b"\xff\xff\xff\x7f",
                b"\x80\x04", b"0" * 40, b"\0" * 8, b"\xff" * 8)  # fmt: skip
_places = st.floats(0, 1, exclude_max=True)
_edits = st.one_of(
    st.tuples(st.just("flip"), _places, st.integers(0, 7)),
    st.tuples(st.just("byte"), _places, st.integers(0, 255)),
    st.tuples(st.just("put"), _places, st.sampled_from(_INTERESTING)),
    st.tuples(st.just("over"), _places, st.sampled_from(_INTERESTING)),
    st.tuples(st.just("cut"), _places, st.integers(1, 64)),
    st.tuples(st.just("twice"), _places, st.integers(1, 64)),
    st.tuples(st.just("end"), _places, st.just(0)),
)
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.sampled_from([2**63, -(2**63) - 1, 10**30, 10**400, 1e308, "\ud800", "nan", "", [], {}, [[]],
                     {"": None}, {"array": "nothing"}, -1, 0, 0.5]),
    st.lists(st.integers(-2, 2), max_size=3),
)  # fmt: skip
"""Values of JSON that are rarely what was meant."""


def mutated(content):
    """The bytes after a few edits."""
    return st.lists(_edits, min_size=1, max_size=4).map(lambda edits: _edited(content, edits))


def _edited(content, edits):
    found = bytearray(content)
    for kind, where, what in edits:
        place = int(where * len(found))
        if kind == "flip" and found:
            found[place] ^= 1 << what
        elif kind == "byte" and found:
            found[place] = what
        elif kind == "put":
            found[place:place] = what
        elif kind == "over":
            found[place : place + len(what)] = what
        elif kind == "cut":
            del found[place : place + what]
        elif kind == "twice":
            found[place:place] = found[place : place + what]
        elif kind == "end":
            del found[place:]
    return bytes(found)


def mutated_value(value):
    """A value of JSON in which a few parts are odd, missing or new."""
    paths = st.lists(st.tuples(st.lists(st.integers(0, 2**16), max_size=8), _changes), min_size=1)
    return paths.filter(lambda found: len(found) <= 3).map(lambda found: _changed(value, found))


_changes = st.one_of(
    st.tuples(st.just("be"), ODD), st.tuples(st.just("go"), st.none()),
    st.tuples(st.just("add"), ODD), st.tuples(st.just("twice"), st.none()),
)  # fmt: skip


def _changed(value, changes):
    root = {"": json.loads(json.dumps(value))}
    for path, (kind, given_odd) in changes:
        odd = deepcopy(given_odd)
        parent, key = root, ""
        for step in path:
            inner = (
                parent[key]
                if key in (parent if isinstance(parent, dict) else range(10**9))
                else None
            )
            if not isinstance(inner, dict | list) or not inner:
                break
            parent = inner
            key = [*parent][step % len(parent)] if isinstance(parent, dict) else step % len(parent)
        if kind == "be":
            parent[key] = odd
        elif kind == "add":
            parent.update({"new": odd}) if isinstance(parent, dict) else parent.append(odd)
        elif parent is not root and kind == "go":
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(key, parent[key])
    return root.get("")


def tried(strategy, examples, call):
    """Call it with that many examples: only errors of one line may come of it."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=[*HealthCheck])
    @given(strategy)
    def each(example):
        try:
            call(example)
        except TagmaError as problem:
            said = str(problem)
        else:
            said = ""
        assert "\n" not in said

    each()
