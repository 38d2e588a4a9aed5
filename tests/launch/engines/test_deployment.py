"""A deployment on loopback: the numbers of a simulation, over TLS, with keys, through faults."""

import json
import os
import socket
import ssl
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tagma.launch.deploy.keys import make_keys
from tagma.launch.deploy.node import node_command, node_environment
from tagma.launch.engines.loopback import loopback
from tagma.launch.engines.process_guard import guarded
from tagma.launch.engines.superlink import free_port
from tests.command import tagma, tagma_process
from tests.launch.engines.test_ray import metrics, processes_with

pytestmark = pytest.mark.multiprocess

TASK = [
    "task.clients=6", "task.clusters=2", "task.dim=5", "task.samples=60", "task.noise=0.5",
    "attack=sign_flip", "attack.fraction=0.33", "oracle=false", "evaluate=false",
]  # fmt: skip
_HANG = 600
"""Seconds after which something hangs, on the busiest host."""
TWO = ["task.clients=2", "task.clusters=1", "attack=none", *TASK[2:5], *TASK[7:]]


@contextmanager
def running(folder: Path, *overrides: str):
    """A run as another process, with a mark on all that it starts, which must be gone after it."""
    with TemporaryDirectory(dir="/tmp", prefix="t") as scratch:
        process = subprocess.Popen(
            [sys.executable, "-m", "tagma.launch.cli", "run", *overrides,
            f"hydra.run.dir={folder}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=os.environ | {"MARK": scratch, "TMPDIR": scratch},
        )  # fmt: skip
        try:
            yield process, scratch
        finally:
            process.kill()
            process.wait()
        assert processes_with(scratch) == []
        assert list(Path(scratch).iterdir()) == []


def wait_for_rounds(folder: Path, rounds: int, process: subprocess.Popen) -> None:
    history, deadline = folder / "history.csv", time.monotonic() + _HANG
    while not (history.exists() and history.read_text().count("\n") > rounds):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for_log(folder: Path, words: str, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + _HANG
    while words not in (folder / "run.log").read_text():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.2)


def kill(mark: str, name: str) -> None:
    """Kill the SuperLink or the server's executor; those of nodes have no secret."""
    (found,) = [
        process
        for process in processes_with(mark)
        if any(name in part for part in process.cmdline()[:2])
        and "--superexec-auth-secret-file" in process.cmdline()
    ]
    found.kill()


def test_six_nodes_agree_with_inprocess_though_the_superlink_is_killed(tmp_path):
    folder = tmp_path / "deployment"
    own = [*TASK, "rounds=2"]
    with running(folder, *own, "engine=deployment", "engine.local_nodes=6") as (process, mark):
        wait_for_rounds(folder, 1, process)
        kill(mark, "flower-superlink")
        output, errors = process.communicate(timeout=_HANG)
        assert process.returncode == 0, errors
    assert "misclustered honest clients" in output
    tagma("run", *own, "hydra.run.dir=inprocess", cwd=tmp_path)
    deployed, simulated = metrics(folder), metrics(tmp_path / "inprocess")
    assert deployed["engine"] == "deployment"
    assert deployed["misclustering_per_iteration"] == simulated["misclustering_per_iteration"]
    errors = "estimation_error_per_round"
    assert deployed[errors] == pytest.approx(simulated[errors], rel=1e-6)
    columns = [
        [row.split(",")[:5] for row in (run / "clusters.csv").read_text().split()]
        for run in (folder, tmp_path / "inprocess")
    ]
    assert columns[0] == columns[1]


def test_a_run_whose_server_is_killed_names_the_command_that_resumes_it(tmp_path):
    folder = tmp_path / "out"
    own = [*TWO, "rounds=3", "engine=deployment", "engine.local_nodes=2"]
    with running(folder, *own) as (process, mark):
        wait_for_rounds(folder, 2, process)
        kill(mark, "flower-superexec")
        _, errors = process.communicate(timeout=_HANG)
    assert process.returncode != 0
    assert f"go on from its last round with: tagma resume {folder}" in errors
    assert errors.splitlines()[-1].startswith("tagma: error: the run did not complete")
    assert not (folder / "metrics.json").exists()
    done = tagma_process("resume", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tagma("run", *TWO, "rounds=3", "hydra.run.dir=whole", cwd=tmp_path)
    errors = "estimation_error_per_round"
    assert metrics(folder)[errors] == pytest.approx(metrics(tmp_path / "whole")[errors], rel=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("comes_back", [True, False])
def test_nodes_that_are_cut_off_are_waited_for_until_the_run_breaks_off(comes_back, tmp_path):
    folder = tmp_path / "out"
    own = [*TWO, "rounds=5", "round_timeout=10", f"quorum_timeout={_HANG if comes_back else 5}"]
    own += ["engine=deployment", "engine.local_nodes=2", "start_timeout=60"]
    with running(folder, *own) as (process, mark):
        wait_for_rounds(folder, 2, process)
        (proxy,) = [p for p in processes_with(mark) if "proxy" in p.cmdline()]
        proxy.suspend()
        wait_for_log(folder, "trying again in", process)
        if comes_back:
            proxy.resume()
        _, errors = process.communicate(timeout=_HANG)
    if not comes_back:
        assert process.returncode == 2
        last = errors.splitlines()[-1]
        assert last.startswith("tagma: error: the run did not complete: round ")
        assert "of 0 of 2 clients (" in last
        assert "quorum=0.5 needs 1; waited for quorum_timeout=5 s" in last
        assert f"tagma resume {folder}" in last
        assert not (folder / "metrics.json").exists()
        done = tagma_process("resume", str(folder), "engine=inprocess", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    tagma("run", *TWO, "rounds=5", "hydra.run.dir=whole", cwd=tmp_path)
    errors = "estimation_error_per_round"
    assert metrics(folder)[errors] == pytest.approx(metrics(tmp_path / "whole")[errors], rel=1e-6)
    assert metrics(folder)["replies"]["rejected"].keys() <= {"absent"}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """A SuperLink with one node: its folder of keys, the proxy's port and the environment."""
    log = tmp_path_factory.mktemp("deployment") / "log"
    with guarded() as shelter, log.open("w") as output, loopback(shelter, 1, output) as superlink:
        deadline = time.monotonic() + _HANG
        while "SuperNode ID" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        (proxy,) = [p for p in shelter.processes if "proxy" in p.args]
        port = proxy.args[proxy.args.index("--port") + 1]
        yield shelter.folder / "keys", port, superlink


def start_node(command, env, tmp_path):
    """Exit code and output of a SuperNode that should be refused.

    To a file: its executor holds the output open until it sees that the node is gone.
    """
    environment = node_environment(env, tmp_path) | {"FLWR_HOME": str(tmp_path)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            return process.wait(100), (tmp_path / "log").read_text()
        finally:
            process.kill()
            process.wait()


def refused(keys: Path, port: str, way: str, tmp_path: Path) -> list[str]:
    command = node_command(keys / "node-0", f"127.0.0.1:{port}", number=0, of=1, port=free_port())
    place = command.index("--auth-supernode-private-key")
    if way == "no key":
        return command[:place] + command[place + 2 :]
    if way == "a strange key":
        make_keys(tmp_path / "strange", nodes=1, superlink=["localhost"])
        return [*command[: place + 1], str(tmp_path / "strange/node-0/key"), *command[place + 2 :]]
    if way == "a strange authority":
        make_keys(tmp_path / "strange", nodes=1, superlink=["localhost"])
        authority = command.index("--root-certificates")
        return [
            *command[: authority + 1],
            str(tmp_path / "strange/ca.crt"),
            *command[authority + 2 :],
        ]
    return [*command[:3], "--insecure", *command[place + 2 :]]


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("no key", "[code: 2001] SuperNode authentication is enabled"),
        ("a strange key", "[code: 2004]"),
        ("a strange authority", "CERTIFICATE_VERIFY_FAILED"),
        ("plain HTTP", "could not establish a connection to the SuperLink"),
    ],
)
def test_a_node_is_refused_with(way, reason, deployment, tmp_path):
    keys, port, superlink = deployment
    command = refused(keys, port, way, tmp_path)
    if way == "plain HTTP":
        command += ["--max-retries", "1"]
    code, output = start_node(command, superlink.env, tmp_path)
    assert code != 0
    assert reason in output
    assert "SuperNode ID" not in output


def test_a_run_that_is_ended_does_not_go_on_without_its_launcher(deployment, tmp_path):
    keys, _, superlink = deployment
    connections = tomllib.loads((Path(superlink.env["FLWR_HOME"]) / "config.toml").read_text())
    own = [
        "engine=deployment", f"engine.root_certificates={keys / 'ca.crt'}",
        f"engine.address={connections['superlink']['tagma']['address']}",
        "task.clients=1", "task.clusters=1", *TWO[2:], "rounds=500",
    ]  # fmt: skip
    with running(tmp_path / "out", *own) as (process, _):
        wait_for_rounds(tmp_path / "out", 1, process)
        process.terminate()
        _, errors = process.communicate(timeout=_HANG)
    assert process.returncode == 143
    assert "go on from its last round with: tagma resume" in errors
    listing, _ = superlink.flwr("ls", "tagma", "--format", "json").communicate()
    assert [run["status"] for run in json.loads(listing)["runs"]] == ["finished:stopped"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/fleet/pull-messages", 415),  # the SuperLink's own answer
        ("POST", "/v1/control/list-runs", 403),
        ("POST", "/v1/control/register-node", 403),
        ("POST", "/v1/runtime/pull-messages", 403),
        ("GET", "/health", 403),
        ("GET", "/v1/fleet/pull-messages", 403),
        ("POST", "/v1/fleet/../control/list-runs", 403),
        ("POST", "/v1/fleet/%2e%2e/control/list-runs", 403),
        ("POST", "/v1/fleet/..%2fcontrol%2flist-runs", 403),
        ("POST", "//v1/control/list-runs", 403),
        ("POST", "/v1/fleet//control/list-runs", 403),
        ("POST", "/v1/fleet/pull-messages?x=1", 403),
        ("POST", "/v1/fleet/pull-messages;x", 403),
        ("POST", "https://127.0.0.1/v1/control/list-runs", 403),
    ],
)
def test_only_the_fleets_requests_pass_the_proxy(method, path, status, deployment):
    keys, port, _ = deployment
    trust = ssl.create_default_context(cafile=keys / "ca.crt")
    with (
        socket.create_connection(("127.0.0.1", int(port)), 30) as plain,
        trust.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode())
        answer = connection.makefile("rb").readline()
    assert answer.split()[1] == str(status).encode()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ([], "engine=deployment: give engine.local_nodes=N or engine.address=HOST:PORT"),
        (["engine.address=x:1"], "engine.root_certificates=null: name the CA's certificate"),
        (["engine.local_nodes=3"], "engine.local_nodes=3: must be task.clients=100"),
    ],
)
def test_a_deployment_that_cannot_be_is_one_line(settings, reason, tmp_path):
    done = tagma("run", "engine=deployment", "oracle=false", *settings, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"tagma: error: {reason}")


def test_a_superlink_that_does_not_answer_is_one_line(tmp_path):
    make_keys(tmp_path / "keys", nodes=1, superlink=["localhost"])
    own = ["engine=deployment", f"engine.address=127.0.0.1:{free_port()}"]
    own += [f"engine.root_certificates={tmp_path}/keys/ca.crt", *TWO, "hydra.run.dir=out"]
    done = tagma_process("run", *own, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("tagma: error: the run was not accepted: ")
