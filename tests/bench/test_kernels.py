"""The gate of `tagma bench kernels`; how fast kernels are is not for tests to say."""

import tracemalloc

import numpy as np
import pytest

from bench.kernels.memory import KERNELS
from bench.kernels.rivals import formulations
from bench.kernels.thresholds import missed
from bench.kernels.timing import Timing, compare
from launch import cli


def timing(library, to_ours, statistic="trimmed_mean", m=20, d=1_000_000, ratio=5.0):
    return Timing(statistic, library, m, d, 1.0, ratio, to_ours)


def test_a_good_run_passes():
    assert missed([timing("tagma", 1.0), timing("flower", 4.5), timing("byzfl", 1.1)]) == []


@pytest.mark.parametrize(
    ("timings", "message"),
    [
        ([timing("tagma", 1.0, ratio=7.5)], "trimmed_mean at 20 x 1000000: 7.5 times the mean"),
        ([timing("tagma", 1.0), timing("flower", 3.5)], "3.50 times as fast as flower, not 4"),
        ([timing("tagma", 1.0), timing("byzpy", 0.9)], "0.90 times as fast as byzpy, not 1"),
        (
            [timing("tagma", 1.0, "krum", 100), timing("byzfl", 1.5, "krum", 100)],
            "krum at 100 x 1000000: 1.50 times as fast as byzfl, not 2",
        ),
    ],
)
def test_a_missed_threshold_is_named(timings, message):
    (problem,) = missed(timings)
    assert message in problem


def test_ratios_are_limited_at_the_largest_shape_only():
    small = timing("tagma", 1.0, d=100, ratio=90.0)
    assert missed([small, timing("tagma", 1.0)]) == []


def test_every_library_computes_the_same():
    rows = np.random.default_rng(0).normal(size=(21, 40)).astype(np.float32)
    for statistic, by_library in formulations(*rows.shape).items():
        first, *others = (
            np.asarray(getattr(result, "estimate", result))
            for result in (function(rows) for name, function in by_library.items()
                           if not name.startswith("byz"))
        )  # fmt: skip
        for other in others:
            assert np.allclose(first, other, atol=1e-5), statistic


def test_the_mean_takes_as_long_as_the_mean():
    rows = np.random.default_rng(0).normal(size=(50, 2000))
    means = {
        "mean": lambda x: x.mean(axis=0),
        "twice": lambda x: x.mean(axis=0) + x.mean(axis=0),
    }
    measured = compare(means, rows, rounds=3)
    assert list(measured) == ["mean", "twice"]
    assert all(figure > 0 for figures in measured.values() for figure in figures)
    assert measured["mean"][2] == 1


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_need_little_memory_beyond_their_input(name, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rows = np.random.default_rng(0).standard_normal((50, 200_000), dtype=np.float32)
    tracemalloc.start()
    KERNELS[name](rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6  # of 40 MB


def test_unknown_options_are_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tagma", "bench", "kernels", "--fast"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "--fast: there is no such option" in capsys.readouterr().err
