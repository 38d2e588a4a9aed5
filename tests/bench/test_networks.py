"""The search for short selection networks."""

import sys
from itertools import product

import pytest

from tagma.bench.networks import all_inputs, beginning, main, search, selects
from tagma.strategies.numerics.kernels import selection_network as network
from tagma.strategies.numerics.kernels.found_networks import read
from tagma.strategies.numerics.kernels.selection_network import cost, prune


@pytest.fixture
def nothing_found(monkeypatch):
    monkeypatch.setattr(network, "found", lambda m, dropped: None)


def test_a_network_is_accepted_only_if_it_selects():
    inputs = all_inputs(4, 1, beginning(4))
    assert selects([], inputs, 1)  # what it begins with finds the least and the greatest of four
    assert selects([(3, 0)], inputs, 1)  # which of them is which does not matter
    assert not selects([(3, 1)], inputs, 1)
    assert not selects([(0, 1), (1, 0)], inputs, 1)
    assert selects([(1, 2)], inputs, 1)
    assert not selects([], all_inputs(5, 2, beginning(5)), 2)


@pytest.mark.parametrize(("m", "dropped"), [(4, 1), (7, 3), (9, 2)])
def test_the_inputs_are_those_that_the_beginning_leaves(m, dropped):
    left = set()
    for bits in product((0, 1), repeat=m):
        values = list(bits)
        for a, b in beginning(m):
            values[a], values[b] = sorted((values[a], values[b]))
        if sum(values) in (dropped, m - dropped):
            left.add(tuple(values))
    inputs = all_inputs(m, dropped, beginning(m))
    seen = [
        tuple(line >> bit & 1 for line in inputs.lines)
        for bit in range((inputs.few_ones | inputs.few_zeros).bit_length())
    ]
    assert len(seen) == len(left)
    assert set(seen) == left
    for bit, values in enumerate(seen):
        assert inputs.few_ones >> bit & 1 == (sum(values) == dropped)
        assert inputs.few_zeros >> bit & 1 == (sum(values) == m - dropped)


def test_a_search_shortens_the_median_of_nine_the_same_way_each_time(nothing_found):
    constructed = min(cost(prune(known, 9, 4)) for known in network.constructed(9, 4))
    first = search(9, 4, 20_000, seed=1)
    assert cost(prune(first, 9, 4)) < constructed
    assert search(9, 4, 20_000, seed=1) == first
    assert first[:8] == beginning(9)


def test_the_command_prints_what_the_table_can_hold(nothing_found, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["networks", "7", "--dropped", "2", "--changes", "20000"])
    main()
    out, told = capsys.readouterr()
    ((sizes, comparators),) = read(out).items()
    assert sizes == (7, 2)
    assert cost(prune(comparators, 7, 2)) == 20
    assert "24 -> 20" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["40"], "at most 28 rows"), (["9", "--dropped", "5"], "nothing"), (["2"], "nothing")],
)
def test_what_cannot_be_searched_for_is_refused(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["networks", *arguments])
    with pytest.raises(SystemExit):
        main()
    assert message in capsys.readouterr().err
