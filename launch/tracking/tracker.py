"""What a tracker is, and how a run tells it: as an observer of rounds, the same on every engine.

A run does not depend on its tracker. One that cannot begin is an error before anything has run;
one that fails later is left alone, with a warning.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from tagma.errors import TagmaError
from tagma.escaping import tracked_name
from tagma.launch.console import warn
from tagma.server.results.events import RoundFinished
from tagma.settings import Settings

Tags = Mapping[str, str]
"""Of a cell of a grid, its place on the axes."""


class Tracker(Protocol):
    """A plugin of the group `tracking`; its constructor's keywords are its settings.

    One with a method `prepare()` is asked for it once before the cells of a grid, several of which
    begin at once.
    """

    def begin(self, settings: Settings, folder: Path, tags: Tags | None = None) -> None:
        """A run starts, whose results will be in the folder.

        `tags`, of a cell of a grid only, are its place on the axes. Then the folder, whose name is
        that of the cell, is for the tracker alone, and may not be there yet.
        """

    def round(self, event: RoundFinished) -> None:
        """A round is over."""

    def end(self, metrics: dict[str, Any] | None, folder: Path) -> None:
        """The run is over, and these are its metrics, or it broke off (None)."""


class NoTracker:
    """Tells nobody."""

    def begin(self, settings: Settings, folder: Path, tags: Tags | None = None) -> None:
        """Nothing to do."""

    def round(self, event: RoundFinished) -> None:
        """Nothing to do."""

    def end(self, metrics: dict[str, Any] | None, folder: Path) -> None:
        """Nothing to do."""


class Tracked:
    """A run as its tracker sees it; calls that fail end the tracking, not the run."""

    def __init__(self, tracker: Tracker, folder: Path) -> None:
        self._tracker = tracker
        self._folder = folder
        self._over = False

    def round(self, event: RoundFinished) -> None:
        """Pass a round on."""
        self._try(lambda: self._tracker.round(event))

    def end(self, metrics: dict[str, Any] | None) -> None:
        """Pass the end on, once."""
        self._try(lambda: self._tracker.end(metrics, self._folder))
        self._over = True

    def _try(self, call: Callable[[], None]) -> None:
        if self._over:
            return
        try:
            call()
        except Exception as problem:  # whatever a tracker does, the run goes on
            self._over = True
            first = str(problem).partition("\n")[0]
            warn(f"tracking ends here: {type(problem).__name__}: {first}")


@contextmanager
def tracked(
    tracker: Tracker,
    settings: Settings,
    folder: Path,
    *,
    place: Path | None = None,
    tags: Tags | None = None,
) -> Iterator[Tracked]:
    """A run under a tracker; if it breaks off, the tracker is informed.

    The folder is that of the results; a tracker keeps its own files in `place`, if that is another.
    """
    try:
        if tags:
            tracker.begin(settings, place or folder, tags)
        else:
            tracker.begin(settings, place or folder)
    except Exception as problem:
        first = str(problem).partition("\n")[0]
        raise TagmaError(f"tracking: cannot begin ({type(problem).__name__}: {first})") from None
    run = Tracked(tracker, folder)
    try:
        yield run
    finally:
        run.end(None)


def require(package: str, extra: str) -> None:
    """One clear line if the package of an optional tracker is not installed."""
    if find_spec(package) is None:
        raise TagmaError(
            f"tracking={extra}: {package} is not installed; pip install 'tagma[{extra}]'"
        )


def settings_by_key(settings: Settings) -> dict[str, str]:
    """Every setting by the key that the user would write."""
    plain = vars(settings).items()
    flat = {key: str(value) for key, value in plain if key not in ("groups", "overrides")}
    for group, values in settings.groups.items():
        flat |= {f"{group}.{key}": str(value) for key, value in values.items()}
    return flat


def final_numbers(metrics: dict[str, Any]) -> dict[str, float]:
    """The numbers that sum up a run, those that are known."""
    named = {
        "misclustering": metrics["misclustering"],
        "ari": metrics["ari"],
        **{name: score["value"] for name, score in metrics["scores"].items()},
        **{
            f"oracle_{'error' if name == 'estimation_error' else name}": score["value"]
            for name, score in (metrics["oracle_scores"] or {}).items()
        },
        "messages": metrics["messages"],
        **{f"bytes_{way}": count for way, count in metrics["bytes"].items()},
        "replies_used": metrics["replies"]["used"],
        "replies_rejected": sum(metrics["replies"]["rejected"].values()),
        "models_kept": metrics["replies"]["kept"],
        "seconds": metrics["seconds"]["total"],
    }
    return _tracked(named)


def round_numbers(event: RoundFinished) -> dict[str, float]:
    """The numbers of a round, those that are known."""
    named = {
        **event.scores,
        "used": event.used,
        "rejected": event.rejected,
        "kept": event.kept,
        "repeats": event.repeats,
        "bytes_down": event.bytes_down,
        "bytes_up": event.bytes_up,
        "seconds": event.seconds,
    }
    return _tracked({f"round/{name}": value for name, value in named.items()})


def _tracked(numbers: Mapping[str, Any]) -> dict[str, float]:
    """Those that are known, by names that every tracker takes."""
    known = {name: value for name, value in numbers.items() if value is not None}
    return {tracked_name(name): float(value) for name, value in known.items()}


def kept_files(folder: Path) -> list[Path]:
    """The files of a run that a tracker keeps, those that are there."""
    names = ("report.html", "metrics.json", "history.csv", "clusters.csv")
    return [folder / name for name in names if (folder / name).is_file()]


def iteration_numbers(metrics: dict[str, Any]) -> list[float]:
    """The misclustering after every iteration of the clustering, where it is known."""
    return [value for value in metrics["misclustering_per_iteration"] or () if value is not None]
