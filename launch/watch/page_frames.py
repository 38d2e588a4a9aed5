"""The parts of a live page with their versions: what each browser has not seen yet.

Nothing is read or drawn while nobody looks. While somebody does, the folder is looked at a few
times a second at most, and never more than a fiftieth of the time is spent on drawing.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import uuid4

from markupsafe import escape

from tagma.errors import TagmaError
from tagma.escaping import one_line
from tagma.launch.watch.live_source import LiveSource

_PAUSE, _LONGEST, _SHARE = 0.5, 5.0, 60
"""Seconds between two looks, at least and at most, and how much more that is than drawing takes."""
_BEAT = 10.0
"""Seconds of silence after which a browser that has gone is noticed."""
_ENDED = "report"
"""What comes instead of a number in the end."""


class Frames:
    """What all who look are shown; `looking` of them."""

    def __init__(self, source: LiveSource) -> None:
        self.source = source
        self.looking = 0
        self.ended = False
        self._born = uuid4().hex[:8]
        self._parts: dict[str, tuple[int, str]] = {}
        self._number = 0
        self._changed = asyncio.Condition()
        self._drawer: asyncio.Task[None] | None = None

    async def since(self, last: str) -> AsyncIterator[tuple[str, dict[str, str]]]:
        """The parts that are newer than an id, with theirs, as they come; none: a sign of life.

        Once the run is over comes the id `report`, and nothing more.
        """
        seen = self._seen(last)
        self.looking += 1
        if self._drawer is None or self._drawer.done():
            self.ended = False  # another run may have begun
            self._drawer = asyncio.create_task(self._draw())
        try:
            while True:
                async with self._changed:
                    if self._number <= seen and not self.ended:
                        try:
                            await asyncio.wait_for(self._changed.wait(), _BEAT)
                        except TimeoutError:
                            yield "", {}
                            continue
                    new = {n: html for n, (number, html) in self._parts.items() if number > seen}
                    seen, ended = self._number, self.ended
                if new:
                    yield f"{self._born}-{seen}", new
                if ended:
                    yield _ENDED, {}
                    return
        finally:
            self.looking -= 1

    def _seen(self, last: str) -> int:
        born, _, number = last.partition("-")
        known = born == self._born and number.isascii() and number.isdigit() and len(number) < 16
        return min(int(number), self._number) if known else 0

    async def _draw(self) -> None:
        while self.looking:
            start = time.thread_time()
            parts, ended, spent = await asyncio.to_thread(self._look)
            async with self._changed:
                new = {
                    n: html for n, html in parts.items() if self._parts.get(n, (0, ""))[1] != html
                }
                if new:
                    self._number += 1
                    self._parts |= {name: (self._number, html) for name, html in new.items()}
                self.ended = ended
                if new or ended:
                    self._changed.notify_all()
            if ended:
                return
            spent += time.thread_time() - start
            await asyncio.sleep(min(_LONGEST, max(_PAUSE, _SHARE * spent)))

    def _look(self) -> tuple[dict[str, str], bool, float]:
        """The parts, whether it is over, and the time that took."""
        start, ended = time.thread_time(), False
        try:
            ended = self.source.ended
            parts = self.source.parts()
        except Exception as problem:  # whatever stands in a stranger's folder
            parts = {"link": str(escape(in_words(problem)))}
        return {"link": ""} | parts, ended, time.thread_time() - start


def in_words(problem: Exception) -> str:
    """Why a folder cannot be shown, in one line."""
    told = isinstance(problem, TagmaError | OSError)
    return one_line(problem) if told else f"cannot be drawn ({one_line(repr(problem))})"
