"""The live page's web server: three addresses that can be read, and nothing that can be changed.

    /          the page as it is now
    /events    what changes, as server-sent events; `Last-Event-ID`, or `after`, is where to go on
    /report    the report, once there is one

It listens on loopback. A page of another origin cannot read it: no header allows that, and requests
that a browser says come from elsewhere, or that name another host (DNS rebinding), are refused.
"""

import json
import re
import socket
import threading
import time
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from html import unescape
from ipaddress import ip_address
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tagma.errors import TagmaError
from tagma.launch.watch.live_source import LiveSource
from tagma.launch.watch.page_frames import Frames, in_words

_MOST_LOOKING = 32
_RETRY = 1000
"""Milliseconds after which a browser that was cut off tries again."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
"""What a page may run, by digests, as it says itself."""


class Guard:
    """Lets through what a browser on this computer asks for on behalf of our own page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        why = _refusal(request)
        if why is not None:
            await PlainTextResponse(f"{why[1]}\n", why[0], _HEADERS)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _refusal(request: Request) -> tuple[int, str] | None:
    if request.method not in ("GET", "HEAD"):
        return 405, "this page can only be read"
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or not is_loopback(f"http://{hosts[0]}"):
        return 421, "this page is for its own computer: open it as http://127.0.0.1"
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{hosts[0]}":
        return 403, "this page is not for other pages"
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        navigates = request.headers.get("sec-fetch-mode") == "navigate"
        if not navigates or request.headers.get("sec-fetch-dest") != "document":
            return 403, "this page is not for other pages"
    return None


def is_loopback(address: str) -> bool:
    """Whether an address is one of this computer's own."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        plain = not (parts.path or parts.query or parts.fragment or parts.username)
        return plain and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


class PageServer:
    """Serves a folder's live page, in a thread of its own."""

    def __init__(self, source: LiveSource, host: str, port: int) -> None:
        self._frames = Frames(source)
        self._given = threading.Event()
        self._socket = _listening(host, port)
        routes = [
            Route("/", self._page), Route("/events", self._events), Route("/report", self._report),
        ]  # fmt: skip
        config = uvicorn.Config(
            Guard(Starlette(routes=routes)), http="h11", ws="none", lifespan="off", loop="asyncio",
            log_config=None, log_level="critical", access_log=False,
            server_header=False, date_header=False,
            limit_concurrency=2 * _MOST_LOOKING, timeout_keep_alive=5,
            timeout_graceful_shutdown=1, proxy_headers=False,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True, name="live page"
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        host, port = self._socket.getsockname()[:2]
        if host == "0.0.0.0":
            host = "127.0.0.1"
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    @property
    def looking(self) -> int:
        """How many browsers show it."""
        return self._frames.looking

    def alive(self, seconds: float) -> bool:
        """Whether it still serves, after so long at most."""
        self._thread.join(seconds)
        return self._thread.is_alive()

    def linger(self, seconds: float) -> None:
        """Wait until those who look have been given the report, so long at most."""
        deadline = time.monotonic() + seconds
        wanted = self.looking > 0
        while wanted and time.monotonic() < deadline:
            wanted = self.looking > 0 or not self._given.wait(0.1)
            time.sleep(0.1)

    def close(self) -> None:
        """End."""
        self._server.should_exit = True
        self._thread.join(3)
        self._socket.close()

    async def _page(self, request: Request) -> Response:
        source = self._frames.source
        if source.ended:
            return RedirectResponse("report", 302, _HEADERS)
        return await _answer(source.shell)

    async def _report(self, request: Request) -> Response:
        if not self._frames.source.ended:
            return RedirectResponse(".", 302, _HEADERS)
        try:
            return await _answer(self._frames.source.report)
        finally:
            self._given.set()

    async def _events(self, request: Request) -> Response:
        if self._frames.looking >= _MOST_LOOKING:
            return PlainTextResponse("too many pages are open\n", 503, _HEADERS)
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        events = self._stream(last)
        return StreamingResponse(events, headers=_HEADERS, media_type="text/event-stream")

    async def _stream(self, last: str) -> AsyncIterator[str]:
        yield f"retry: {_RETRY}\n\n"
        async for number, parts in self._frames.since(last):
            if parts:
                yield f"event: parts\nid: {number}\ndata: {json.dumps(parts)}\n\n"
            elif number:
                yield "event: report\ndata: \n\n"
            else:
                yield ": still here\n\n"


async def _answer(draw: Callable[[], str]) -> Response:
    """A page of ours, or why there is none; its first policy is its own, whatever comes later."""
    try:
        page = await to_thread(draw)
    except Exception as problem:  # whatever stands in a stranger's folder
        return PlainTextResponse(f"{in_words(problem)}\n", 500, _HEADERS)
    found = _POLICY.search(page)
    assert found is not None
    policy = f"{unescape(found[1])}; frame-ancestors 'none'"
    return HTMLResponse(page, headers={**_HEADERS, "Content-Security-Policy": policy})


@contextmanager
def served(source: LiveSource, host: str = "127.0.0.1", port: int = 0) -> Iterator[PageServer]:
    """A server for as long as the context lasts."""
    server = PageServer(source, host, port)
    try:
        yield server
    finally:
        server.close()


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2 * _MOST_LOOKING)  # who asks before the thread runs, waits
    except OSError as problem:
        raise TagmaError(
            f"--port {port}: cannot be listened on at {host} ({problem.strerror})"
        ) from None
    return listening
