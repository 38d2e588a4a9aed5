"""The containers of the demo, driven as a user would drive them: by docker and its Compose."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = f"tagma-test-{sha256(bytes(ROOT)).hexdigest()[:8]}"
COMPOSE = os.environ.get("TAGMA_COMPOSE", "docker compose").split()
os.environ["COMPOSE_PROJECT_NAME"] = os.environ["TAGMA_IMAGE"] = PROJECT


def compose(*arguments: str, files: tuple[str, ...] = (), check: bool = True, **keywords):
    """Run Compose on the demo's file, and others on top of it."""
    more = [part for file in ("docker-compose.yml", *files) for part in ("-f", file)]
    command = [*COMPOSE, "-p", PROJECT, *more, *arguments]
    keywords = {"capture_output": True, "text": True, "timeout": 900} | keywords
    done = subprocess.run(command, cwd=ROOT, check=False, **keywords)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}")
    return done


def docker(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert not check or done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


def container(service: str) -> str:
    """The id of a service's container, running or not."""
    name = f"label=com.docker.compose.service={service}"
    project = f"label=com.docker.compose.project={PROJECT}"
    found = docker("ps", "-a", "-q", "--filter", project, "--filter", name).split()
    (only,) = [one for one in found if not _one_off(one)]
    return only


def _one_off(identifier: str) -> bool:
    label = '{{index .Config.Labels "com.docker.compose.oneoff"}}'
    return docker("inspect", "-f", label, identifier) == "True"


def wait_until_running(service: str, seconds: float = 120) -> None:
    """Wait for a service's container to be up (healthy, where it can say so)."""
    shape = "{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}"
    deadline = time.monotonic() + seconds
    while docker("inspect", "-f", shape, container(service)) not in ("running healthy", "running "):
        assert time.monotonic() < deadline, f"{service} does not come up"
        time.sleep(1)


class Run:
    """One `docker compose run run ...` in progress; it starts no other container by itself."""

    def __init__(self, *command: str, alone: bool = True) -> None:
        more = ["-p", PROJECT, "-f", "docker-compose.yml", "run", "--rm", "-T"]
        more += [*(["--no-deps"] if alone else []), "run", *command]
        self.process = subprocess.Popen(
            [*COMPOSE, *more], cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ,
        )  # fmt: skip
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait(self, seconds: float = 900) -> int:
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code

    def wait_for_round(self, number: int, folder: str, seconds: float = 400) -> None:
        deadline = time.monotonic() + seconds
        while rounds_done(folder) < number:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.2)


def rounds_done(folder: str) -> int:
    """How many rounds the server has finished, by its own record on the results volume."""
    text = docker("exec", container("executor"), "cat", f"{folder}/history.csv", check=False)
    return max(0, len(text.splitlines()) - 1)


def result(folder: str) -> dict:
    """metrics.json of a run on the results volume."""
    return json.loads("\n".join(rows(folder, "metrics.json")))


def rows(folder: str, name: str) -> list[str]:
    """The lines of a file of a run on the results volume."""
    return in_a_new("run", f"cat {folder}/{name}").stdout.splitlines()


def in_a_new(service: str, command: str, **keywords) -> subprocess.CompletedProcess:
    """A command in a new container like a service's, on its network and with its volumes."""
    return compose("run", "--rm", "-T", "--no-deps", service, "sh", "-c", command, **keywords)


@contextmanager
def stack() -> Iterator[None]:
    """Build, start everything, and take everything away again."""
    compose("down", "--volumes", "--timeout", "2", check=False)
    compose("build", "keys", capture_output=False)
    try:
        compose("up", "-d", capture_output=False)
        yield
    finally:
        for service in ("superlink", "executor", "proxy", "node-0"):
            print(compose("logs", "--no-color", "--tail", "40", service, check=False).stdout)
        compose("down", "--volumes", "--timeout", "2", check=False)
