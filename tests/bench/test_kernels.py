"""The gate of `tagma bench kernels`; how fast kernels are is not for tests to say."""

import io
import tracemalloc

import numpy as np
import pytest
from rich.console import Console

from tagma.bench.kernels import kernels_command as command
from tagma.bench.kernels.kernels_command import absent_peers
from tagma.bench.kernels.kernels_figure import draw
from tagma.bench.kernels.kernels_memory import KERNELS
from tagma.bench.kernels.kernels_thresholds import missed
from tagma.bench.kernels.kernels_timing import Timing, compare
from tagma.bench.kernels.rivals import formulations
from tagma.launch import cli


def timing(library, to_ours, statistic="trimmed_mean", m=20, d=1_000_000, ratio=5.0):
    return Timing(statistic, library, m, d, 1.0, ratio, to_ours, turns=3)


def test_a_good_run_passes():
    assert missed([timing("tagma", 1.0), timing("flower", 2.1), timing("byzfl", 0.8)]) == []


@pytest.mark.parametrize(
    ("timings", "message"),
    [
        ([timing("tagma", 1.0, ratio=7.5)], "trimmed_mean at 20 x 1000000: 7.5 times the mean"),
        ([timing("tagma", 1.0), timing("flower", 1.9)], "1.90 times as fast as flower, not 2"),
        ([timing("tagma", 1.0), timing("byzpy", 0.7)], "0.70 times as fast as byzpy, not 0.75"),
        (
            [timing("tagma", 1.0, "krum", 100), timing("byzfl", 1.1, "krum", 100)],
            "krum at 100 x 1000000: 1.10 times as fast as byzfl, not 1.2",
        ),
    ],
)
def test_a_missed_threshold_is_named(timings, message):
    (problem,) = missed(timings)
    assert message in problem


def test_nnm_is_limited_in_given_memory_and_compared_as_others_make_it():
    given = timing("tagma, given memory", 0.5, "nnm", 100, ratio=15.0)
    new = timing("tagma", 1.0, "nnm", 100, ratio=76.0)
    assert missed([new, given, timing("byzpy", 1.3, "nnm", 100)]) == []
    slow = timing("tagma, given memory", 0.5, "nnm", 100, ratio=31.0)
    limit, rival = missed([new, slow, timing("byzpy", 1.1, "nnm", 100)])
    assert "31.0 times the mean, not 30" in limit
    assert "1.10 times as fast as byzpy, not 1.2" in rival


def test_short_calls_have_more_turns():
    clock = Clock()
    durations = [0.001] * 100_000
    short = {"ours": clock.calls(*durations), "theirs": clock.calls(*[0.06] * 8)}
    measured = compare(short, clock, rounds=3, clock=clock)
    assert measured["ours"].turns == 15
    assert measured["theirs"].turns == 3


def test_the_figure_has_a_bar_for_every_library_at_the_largest_shape(tmp_path):
    libraries = ["tagma", "tagma, given memory", *(f"library {number}" for number in range(9))]
    large = [timing(name, 1.0, ratio=3.25 + number) for number, name in enumerate(libraries)]
    draw([timing("tagma", 1.0, d=10, ratio=77.0), *large], tmp_path / "kernels")
    drawing = (tmp_path / "kernels.svg").read_text()
    assert all(name in drawing and f"{3.25 + n:.3g}" in drawing for n, name in enumerate(libraries))
    assert ">77<" not in drawing
    assert (tmp_path / "kernels.png").exists()


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
        assert "numpy" in by_library
        for other in others:
            assert np.allclose(first, other, atol=1e-5), statistic


def test_plain_formulations_that_need_too_much_memory_are_left_out():
    large = formulations(100, 1_000_000)
    assert "numpy" not in large["krum"]
    assert "numpy" in large["geometric_median"]


class Clock:
    """Calls of the mean take 0.05 s, other calls what they are told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def mean(self, axis):
        self.now += 0.05

    def calls(self, *durations):
        left = iter(durations)

        def call(rows):
            self.now += next(left)

        return call


def test_figures_are_medians_over_the_turns_without_the_calls_before_them():
    clock = Clock()
    functions = {
        "ours": clock.calls(3, 0.1, *[9, 0.1] * 3),
        "theirs": clock.calls(3, 0.4, 9, 0.2, 9, 0.5, 9, 0.3),
    }
    measured = compare(functions, clock, rounds=3, clock=clock)
    assert measured["ours"] == pytest.approx((0.1, 2, 1, 3))
    assert measured["theirs"] == pytest.approx((0.3, 6, 3, 3))


def test_memory_that_the_host_took_while_others_had_their_turns_does_not_count():
    clock = Clock()
    latest = None

    def function(name):
        def call(rows):
            nonlocal latest
            clock.now += 0.1 if latest == name else 1.0
            latest = name

        return call

    functions = {name: function(name) for name in ("ours", "theirs")}
    measured = compare(functions, clock, rounds=3, clock=clock)
    assert measured["ours"].seconds == pytest.approx(0.1)
    assert measured["theirs"].seconds == pytest.approx(0.1)


def test_slow_calls_are_measured_less_often_and_very_slow_ones_once():
    clock = Clock()
    functions = {
        "ours": clock.calls(1, 1, 9, 2, 9, 3),
        "slow": clock.calls(5, 5, 9, 5),
        "slower": clock.calls(99, 10),
    }
    measured = compare(functions, clock, rounds=3, clock=clock)
    assert measured["ours"] == pytest.approx((2.5, 50, 1, 2))
    assert measured["slow"] == pytest.approx((5, 100, 2.5, 1))
    assert measured["slower"] == pytest.approx((10, 200, 5, 1))


def test_peers_that_are_not_installed_are_named():
    assert absent_peers([timing("tagma", 1.0), timing("byzfl on torch", 2.0)]) == ["byzpy"]


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1e30])  # with care, where rows are of astronomic size
@pytest.mark.parametrize("name", KERNELS)
def test_memory_beyond_the_input_does_not_grow_with_the_rows(name, first, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    peaks = []
    for dim in (70_000, 210_000):
        rows = np.random.default_rng(0).standard_normal((50, dim), dtype=np.float32)
        rows[0] = first
        tracemalloc.start()
        KERNELS[name](rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    grown = 4 * 140_000
    assert peaks[1] - peaks[0] < 1.5 * grown  # the estimate; the rows grow by 50 times as much
    assert peaks[1] < 25e6


def test_the_table_fits_a_terminal_of_80_columns(monkeypatch):
    terminal = Console(width=80, record=True, file=io.StringIO())
    monkeypatch.setattr(command, "console", terminal)
    libraries = ("tagma, given memory", "byzfl on torch")
    timings = [
        timing(name, 1.0, "geometric_median", m, d, ratio)
        for name, ratio in zip(libraries, (99.96, 1234.5), strict=True)
        for m, d in command._SHAPES
    ]
    command._print(timings)
    shown = terminal.export_text()
    assert "…" not in shown
    assert shown.count("geometric_median") == 2
    assert all(name in shown for name in (*libraries, "10k", "1M"))
    assert shown.count(" 100 │") == shown.count("1234 │") == len(command._SHAPES)


def test_unknown_options_are_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tagma", "bench", "kernels", "--fast"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "--fast: there is no such option" in capsys.readouterr().err
