"""Who may read the live page, and how: GET, from this computer, by our own page."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tagma.launch.watch import page_frames
from tagma.launch.watch.live_source import LiveSource
from tagma.launch.watch.page_server import PageServer, is_loopback, served
from tests.command import tagma
from tests.launch.watch.replay import Replay, recorded


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("recorded") / "run", rounds=6)


@pytest.fixture
def replay(source: Path, tmp_path: Path) -> Replay:
    return Replay(source, tmp_path / "run")


@pytest.fixture
def server(replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageServer]:
    monkeypatch.setattr(page_frames, "_PAUSE", 0.01)
    replay.until(2)
    with served(LiveSource(tmp_path / "run")) as server:
        yield server


def connected(server: PageServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=20)


def answer(
    server: PageServer, path: str = "/", method: str = "GET", **headers: str
) -> http.client.HTTPResponse:
    connection = connected(server)
    connection.request(method, path, headers={n.replace("_", "-"): v for n, v in headers.items()})
    return connection.getresponse()


def events(response: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, str]]]:
    """The id and the parts of every message."""
    number = ""
    for raw in response:
        name, _, value = raw.decode().rstrip("\n").partition(": ")
        if name == "id":
            number = value
        elif name == "data" and value:
            yield number, json.loads(value)


def test_the_page_says_what_it_may_run_and_nobody_may_frame_or_keep_it(server: PageServer) -> None:
    response = answer(server)
    policy = dict(
        p.split(" ", 1) for p in response.getheader("Content-Security-Policy").split("; ")
    )
    assert response.status == 200
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for part in ("style-src", "script-src"):
        assert policy[part].startswith("'sha256-")
        assert "unsafe" not in policy[part]
    assert response.getheader("Cache-Control") == "no-store"
    assert response.getheader("Cross-Origin-Resource-Policy") == "same-origin"
    assert response.getheader("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize("path", ["/", "/events", "/report", "/nowhere"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}, 403),
        (
            {
                "Sec_Fetch_Site": "same-site",
                "Sec_Fetch_Mode": "navigate",
                "Sec_Fetch_Dest": "iframe",
            },
            403,
        ),
    ],
)
def test_other_origins_and_names_are_refused(
    server: PageServer, path: str, headers: dict[str, str], status: int
) -> None:
    response = answer(server, path, **headers)
    assert response.status == status
    assert len(response.read()) < 100


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server: PageServer, method: str) -> None:
    assert answer(server, "/", method).status == 405


def test_a_link_from_elsewhere_opens_the_page(server: PageServer) -> None:
    from_a_mail = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert answer(server, **from_a_mail, Sec_Fetch_Dest="document").status == 200


def test_who_comes_back_gets_only_what_is_new(server: PageServer, replay: Replay) -> None:
    number, whole = next(events(answer(server, "/events")))
    assert {"head", "clients", "client-4", "places", "log"} <= whole.keys()
    replay.until(3)
    following = events(answer(server, "/events", Last_Event_ID=number))
    later, new = next(following)
    assert "round 4 of 7" in new["head"]
    assert "places" not in new
    assert later != number
    other = next(events(answer(server, "/events", Last_Event_ID="0badcafe-99")))[1]
    assert other.keys() >= whole.keys(), "an id of another server means nothing"


def test_nothing_is_read_while_nobody_looks(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    monkeypatch.setattr(LiveSource, "parts", lambda self: looks.append(1) or {})
    with served(LiveSource(source)) as server:
        assert server.alive(0.3)
        assert server.looking == 0
    assert looks == []


def test_a_report_that_a_stranger_left_is_not_the_report(source: Path, tmp_path: Path) -> None:
    Replay(source, tmp_path / "run").end()
    (tmp_path / "run/report.html").write_text("<script>alert(1)</script>")
    with served(LiveSource(tmp_path / "run")) as server:
        assert answer(server).getheader("Location") == "report"
        page = answer(server, "/report").read().decode()
    assert "alert(1)" not in page
    assert "Run it again" in page


def test_a_damaged_report_is_one_line_of_why(source: Path, tmp_path: Path) -> None:
    Replay(source, tmp_path / "run").end()
    (tmp_path / "run/metrics.json").write_text("[1")
    with served(LiveSource(tmp_path / "run")) as server:
        response = answer(server, "/report")
        said = response.read().decode()
    assert response.status == 500
    assert "a file in it is damaged" in said
    assert said.count("\n") == 1
    assert response.getheader("X-Content-Type-Options") == "nosniff"


def test_a_folder_that_cannot_be_drawn_is_said_to_be_so_and_tried_again(
    server: PageServer, replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = LiveSource.parts

    def breaks(self: LiveSource) -> dict[str, str]:
        raise RuntimeError("<b>strange</b>")

    monkeypatch.setattr(LiveSource, "parts", breaks)
    stream = events(answer(server, "/events"))
    said = next(stream)[1]["link"]
    assert "cannot be drawn" in said
    assert "&lt;b&gt;strange" in said
    monkeypatch.setattr(LiveSource, "parts", whole)
    assert next(stream)[1]["link"] == ""
    assert next(events(answer(server, "/events")))[1]["link"] == ""


def test_the_folder_stays_as_it_was(server: PageServer, tmp_path: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        about = {path: path.lstat() for path in (tmp_path / "run").rglob("*")}
        return {str(path): (one.st_mtime_ns, one.st_size) for path, one in about.items()}

    before = state()
    answer(server).read()
    next(events(answer(server, "/events")))
    assert state() == before


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://127.0.0.1:80", True),
        ("http://localhost:8", True),
        ("http://[::1]:8", True),
        ("http://127.9.9.9", True),
        ("http://10.0.0.1", False),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1@evil.example", False),
        ("http://evil@127.0.0.1", False),
        ("http://127.0.0.1:80/x", False),
        ("http://127.0.0.1:99999", True),
        ("http://", False),
        ("http://[::1", False),
    ],
)
def test_loopback_is_told_from_other_names(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["watch"], "FOLDER"),
        (["watch", ".", "--port", "70000"], "--port 70000"),
        (["watch", ".", "--port", "-1"], "--port -1"),
        (["watch", "file"], "is no folder"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "file").touch()
    done = tagma(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
