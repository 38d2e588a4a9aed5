"""`tagma watch`: the live page of a run or a grid under way, here or in a copied folder."""

import os
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import notices, say
from tagma.launch.watch.live_source import LiveSource
from tagma.launch.watch.page_server import served

_HELP = """A page that shows a run, or a grid, while it goes on, and is its report in the end.

FOLDER is that of one that is under way, is over, or will begin there. It is only read, and only
while somebody looks; a copy that is brought up to date from elsewhere will do.
  tagma run rounds=200 hydra.run.dir=here &
  tagma watch here
  tagma watch outputs/bench/quick
The page is served on this computer alone. Ctrl-C ends it. `tagma run live=true` does both."""
_LINGER = 10.0
"""Seconds in which those who look at a run that ends fetch its report."""


def main(arguments: list[str]) -> None:
    """Serve the page until Ctrl-C."""
    parser = CommandLine("watch", _HELP)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of the run or the grid")
    parser.add_argument(
        "--port", type=int, default=0, help="of the page (default: one that is free)"
    )
    parser.add_argument(
        "--published", action="store_true",
        help="listen on all addresses: in a container whose port is published on 127.0.0.1 only",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="open none")
    given = parser.read(arguments)
    if not 0 <= given.port < 2**16:
        raise TagmaError(f"--port {given.port}: must be from 0 to 65535")
    if given.folder.exists() and not given.folder.is_dir():
        raise TagmaError(f"{given.folder}: is no folder; name that of a run")
    host = "0.0.0.0" if given.published else "127.0.0.1"
    with served(LiveSource(given.folder), host, given.port) as server:
        say(f"live page: {server.address}  (Ctrl-C ends it)")
        if not given.no_browser:
            _open(server.address)
        try:
            while server.alive(1.0):
                pass
        except KeyboardInterrupt:
            return
    raise TagmaError(f"--port {given.port}: the page cannot be served any more")


@contextmanager
def live_page(folder: Path, *, shown: bool) -> Iterator[None]:
    """The page of a run while it goes on, if it is to be `shown`; who looks gets the report."""
    if not shown:
        yield
        return
    with served(LiveSource(folder)) as server:
        notices.print(f"live page: {server.address}", highlight=False, soft_wrap=True)
        _open(server.address)
        yield
        server.linger(_LINGER)


def _open(address: str) -> None:
    """In a browser, where a person sits who has one: text browsers would take the terminal."""
    windows = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if windows and sys.stdout.isatty():
        webbrowser.open(address)
