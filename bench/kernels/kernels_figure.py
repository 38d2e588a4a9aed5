"""The figure of `tagma bench kernels`: all libraries at the largest shape."""

from collections.abc import Sequence
from pathlib import Path

from tagma.bench.kernels.kernels_timing import Timing
from tagma.bench.kernels.rivals import OURS, OURS_GIVEN
from tagma.bench.reproduce.print_figures import COLOURS, figure

_BAR = 0.13


def draw(timings: Sequence[Timing], path: Path) -> None:
    """Groups of bars, one for each statistic; ours in one colour, into given memory hatched."""
    m, d = max(((timing.m, timing.d) for timing in timings), key=lambda shape: shape[0] * shape[1])
    shown = [timing for timing in timings if (timing.m, timing.d) == (m, d)]
    statistics = list(dict.fromkeys(timing.statistic for timing in shown))
    others = dict.fromkeys(t.library for t in shown if not t.library.startswith(OURS))
    colours = {
        library: COLOURS[1 + place % (len(COLOURS) - 1)] for place, library in enumerate(others)
    }
    with figure(path, width=8) as axes:
        bars = {}
        for place, statistic in enumerate(statistics):
            group = [timing for timing in shown if timing.statistic == statistic]
            for number, timing in enumerate(group):
                bar = axes.bar(
                    place + (number - (len(group) - 1) / 2) * _BAR,
                    timing.ratio,
                    _BAR,
                    color=colours.get(timing.library, COLOURS[0]),
                    hatch="////" if timing.library == OURS_GIVEN else None,
                    edgecolor="white",
                )
                axes.bar_label(bar, fmt="%.3g", fontsize=6)
                bars[timing.library] = bar
        axes.set_yscale("log")
        axes.set_ylim(bottom=1)
        axes.set_ylabel(f"CPU time / mean, {m} x {d:,}")
        axes.set_xticks(range(len(statistics)), [name.replace("_", " ") for name in statistics])
        axes.legend(
            bars.values(), bars, ncols=len(bars) // 2 + 1,
            loc="lower center", bbox_to_anchor=(0.5, 1.0),
        )  # fmt: skip
