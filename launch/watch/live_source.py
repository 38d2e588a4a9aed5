"""What a live page shows: a folder in which a run, or a grid, is or will be under way."""

import os
from pathlib import Path
from threading import Lock
from typing import Protocol

from tagma.errors import TagmaError
from tagma.report.bench_reading import INDEX
from tagma.report.bench_report import bench_page
from tagma.report.live_grid import CELLS, LiveGridPage
from tagma.report.live_page import LivePage
from tagma.report.run_report import run_page
from tagma.server.folder_lock import seems_claimed
from tagma.server.results.run_folder import METRICS, REPORT


class Page(Protocol):
    """A page in parts."""

    def parts(self) -> dict[str, str]:
        """The insides of its elements, by their ids, as they are now."""

    def shell(self, brand: str) -> str:
        """The page with its parts."""


class LiveSource:
    """A folder that is only read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._page: Page | None = None
        self._one = Lock()

    @property
    def ended(self) -> bool:
        """Whether nothing more will come, so that there can be a report."""
        grid, index = self.folder / CELLS, self.folder / INDEX
        try:
            if index.is_file():
                return not grid.is_file() or index.stat().st_mtime >= grid.stat().st_mtime
            if not (self.folder / METRICS).is_file():
                return False
            return (self.folder / REPORT).exists() or not seems_claimed(self.folder)
        except OSError:  # it is being replaced, or nothing of ours to read
            return False

    def parts(self) -> dict[str, str]:
        """What is on the page as it is now."""
        with self._one:
            return self._drawn().parts()

    def shell(self) -> str:
        """The whole page as it is now."""
        with self._one:
            return self._drawn().shell("/".join(Path(os.path.abspath(self.folder)).parts[-2:]))

    def report(self) -> str:
        """The report, made here from the data: that in the folder may be anybody's page."""
        try:
            grid = (self.folder / INDEX).is_file()
            return bench_page(self.folder) if grid else run_page(self.folder)
        except OSError as error:
            raise TagmaError(f"{self.folder}: cannot be read ({error.strerror})") from None

    def _drawn(self) -> Page:
        grid = (self.folder / CELLS).is_file()
        if self._page is None or grid != isinstance(self._page, LiveGridPage):
            self._page = LiveGridPage(self.folder) if grid else LivePage(self.folder)
        return self._page
