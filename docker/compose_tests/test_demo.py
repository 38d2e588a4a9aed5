"""The demo as an audience sees it: what is done to its nodes is on its page within a round.

`make demo` itself is run, and the commands beside it, by their script.
"""

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from compose_tests import stack
from compose_tests.stack import docker
from tagma.launch.engines import inprocess
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose as settings_of

PATIENCE = 240
"""Seconds in which a round is over, also one in which a node dies on a busy computer."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Demo:
    """A demo under way."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.page = folder, f"http://127.0.0.1:{port}/"
        self.environment = os.environ | {
            "DEMO_OUT": str(folder), "TAGMA_PAGE_PORT": str(port), "NO_TTY": "1",
            "ARGS": "rounds=24 pause=1 round_timeout=60 oracle=false",
        }  # fmt: skip
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            ["docker/demo.sh"], cwd=stack.ROOT, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def do(self, word: str, **names: object) -> None:
        more = {name: str(value) for name, value in names.items()}
        done = subprocess.run(
            ["docker/demo.sh", word], cwd=stack.ROOT, env=self.environment | more, text=True,
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def seen(self) -> str:
        try:
            return urlopen(self.page, timeout=10).read().decode()
        except OSError:
            return ""

    def round(self) -> int:
        found = re.search(r"round (\d+) of", self.seen())
        return int(found[1]) if found else 0

    def wait(self, pattern: str, seconds: float = PATIENCE) -> re.Match[str]:
        """Until the page says so."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen(), re.S)):
            assert self.process.poll() is None, self.process.stdout.read()
            assert time.monotonic() < deadline, f"not on the page: {pattern}\n{self.log()}"
            time.sleep(0.3)
        return found

    def log(self) -> str:
        return "\n".join(re.findall(r"<li class=.*?</li>", self.seen()))

    def within_a_round(self, pattern: str) -> None:
        """What the pattern's group says is a round: that after the present one at the latest."""
        before = self.round()
        number = int(self.wait(pattern)[1])
        print(f"asked in round {before}, seen of round {number}: {pattern}")
        assert number <= before + 1


def said(words: str) -> str:
    return rf"<b>Round (\d+)</b> {words}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    stack.compose("down", "--volumes", "--timeout", "2", check=False)
    demo = Demo(tmp_path_factory.mktemp("demo") / "out", free_port())
    yield demo
    if demo.process.poll() is None:
        demo.process.terminate()
    demo.do("down")


def test_what_is_done_to_nodes_is_seen_within_a_round_and_the_rest_hold(demo: Demo) -> None:
    demo.wait("round 3 of 25", 900)
    print(f"from `make demo` to round 3: {time.monotonic() - demo.began:.0f} s")
    assert demo.seen().count('class="state well"') == 7
    demo.do("attack", NODE=5, ATTACK="sign_flip")
    demo.within_a_round(said("client 5: a reply contradicts its first model"))
    demo.wait(said("client 5 excluded: its replies contradict its first model"))
    demo.do("honest", NODE=5)
    demo.wait(said("client 5: takes part again"))
    demo.do("kill", NODE=3)
    demo.within_a_round(said("client 3: no answer"))
    demo.do("cut", NODE=2)
    demo.within_a_round(said("client 2: no answer"))
    demo.do("back", NODE=2)
    demo.do("back", NODE=3)
    demo.wait(said(r"[^<]*\b2\b[^<]*: answering again"))
    demo.do("join")
    demo.wait(said("client 7 joined and has cluster"))
    output = demo.process.communicate(timeout=900)[0]
    assert demo.process.returncode == 0, output
    for words in ("Watch it: http://127.0.0.1:", "make demo-attack NODE=5", "make demo-join"):
        assert words in output


def test_it_ends_where_one_process_does_in_which_the_same_node_attacked(
    demo: Demo, tmp_path: Path
) -> None:
    lines = (demo.folder / "events.jsonl").read_text().splitlines()
    strikes, attacked = 0, []
    for row in map(json.loads, lines):
        for client in row.get("clients", ()) if row["event"] == "round" else ():
            if client[0] == 5:
                attacked += [row["round"]] if client[5] > strikes else []
                strikes = client[5]
    settings = settings_of([
        "task.clients=8", "seed=3", "task.clusters=2", "task.dim=20", "task.samples=200",
        "task.noise=1.0",
        "rounds=24", "strategy.quarantine=true", "strategy.reply_check=true", "oracle=false",
        "attack=sign_flip", "attack.clients=[5]", f"attack.start={attacked[0]}",
        f"attack.stop={attacked[-1]}",
    ])  # fmt: skip
    inprocess.run(settings, tmp_path, lambda event: None)
    ours, theirs = read_metrics(demo.folder), read_metrics(tmp_path)
    errors = [found["estimation_error"] for found in (ours, theirs)]
    print("estimation error: {:.4f}, in one process {:.4f}".format(*errors))
    assert ours["misclustering"] == theirs["misclustering"] == 0
    assert ours["estimation_error"] == pytest.approx(theirs["estimation_error"], rel=0.05)


def test_the_page_has_no_key_and_reaches_no_other_container(demo: Demo) -> None:
    name = f"label=com.docker.compose.project={stack.PROJECT}"
    watch = docker(
        "ps", "-a", "-q", "--filter", name, "--filter", "label=com.docker.compose.service=watch"
    )
    docker("start", watch)
    shape = "{{range .Mounts}}{{.Destination}} {{.RW}};{{end}} {{json .HostConfig.PortBindings}}"
    mounts, _, ports = docker("inspect", "-f", shape, watch).partition(" {")
    assert mounts == "/results false;"
    assert '"HostIp":"127.0.0.1"' in ports
    for other in ("superlink", "proxy", "node-0"):
        script = f"import socket; socket.gethostbyname('{other}')"
        assert docker("exec", watch, "sh", "-c", f'python3 -c "{script}" 2>&1 || true')
    reach = "import socket; socket.create_connection(('1.1.1.1', 53), 3)"
    assert "Error" in docker("exec", watch, "sh", "-c", f'python3 -c "{reach}" 2>&1 || true')


def test_a_page_of_another_name_is_refused(demo: Demo) -> None:
    deadline = time.monotonic() + 30
    while not demo.seen():
        assert time.monotonic() < deadline
        time.sleep(0.5)
    with pytest.raises(OSError, match="421"):
        urlopen(Request(demo.page, headers={"Host": "evil.example"}), timeout=5)
