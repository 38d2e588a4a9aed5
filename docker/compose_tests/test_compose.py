"""A federation on a real Docker engine: numbers, faults, refusals and round times.

`make test-compose` runs this file if there is an engine. It needs 10 to 20 minutes.
"""

import csv
import statistics
import subprocess
import time
from itertools import pairwise

import pytest

from compose_tests import stack
from compose_tests.stack import (
    Run,
    compose,
    container,
    docker,
    in_a_new,
    result,
    rounds_done,
    rows,
    wait_until_running,
)
from tagma.launch.engines import inprocess
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose as settings_of

ERRORS = "estimation_error_per_round"
TASK = [
    "task.clients=6", "task.clusters=2", "task.dim=20", "task.samples=200", "task.noise=1.0",
    "attack=sign_flip", f"attack.fraction={2 / 6!r}",
]  # fmt: skip
WHERE = [
    "engine=deployment", "engine.address=superlink:8000",
    "engine.root_certificates=/keys/ca.crt", "oracle=false",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def containers():
    with stack.stack():
        yield


def start(folder: str, *overrides: str) -> Run:
    return Run("tagma", "run", *WHERE, *TASK, f"hydra.run.dir={folder}", *overrides)


def simulated(tmp_path, *overrides: str):
    settings = settings_of([*TASK, "oracle=false", *overrides])
    inprocess.run(settings, tmp_path, lambda event: None)
    return read_metrics(tmp_path), (tmp_path / "clusters.csv").read_text().splitlines()


def first_columns(lines: list[str]) -> list[list[str]]:
    return [line.split(",")[:5] for line in lines]


def test_a_run_has_the_numbers_of_a_simulation(tmp_path):
    folder = "/results/numbers"
    run = start(folder, "rounds=5")
    assert run.wait() == 0, run.text
    assert "misclustered honest clients" in run.text
    found, (expected, clusters) = result(folder), simulated(tmp_path, "rounds=5")
    assert found["engine"] == "deployment"
    assert found[ERRORS] == pytest.approx(expected[ERRORS], rel=1e-6)
    assert found["misclustering"] == expected["misclustering"] == 0
    assert first_columns(rows(folder, "clusters.csv")) == first_columns(clusters)
    assert sum(cluster["byzantine"] for cluster in found["clusters"]) == 2


def test_rounds_are_much_shorter_than_those_of_flowers_own_loop():
    folder, ours = "/results/steady", []
    run = start(folder, "rounds=5", "evaluate=false", "checkpoint_every=1")
    for number in range(2, 6):
        run.wait_for_round(number, folder)
        ours.append(time.monotonic())
    assert run.wait() == 0, run.text
    files = ("docker/compose_tests/flower_nodes.yml",)
    compose("up", "-d", files=files)
    time.sleep(5)
    command = "flwr run /app superlink --stream"
    done = in_a_new("run", _CONNECTED + command, files=files)
    theirs = [float(line.split()[1]) for line in done.stdout.splitlines() if "round-ended" in line]
    compose("up", "-d")
    assert len(theirs) == 5, done.stdout
    ours, theirs = (
        statistics.median(later - earlier for earlier, later in pairwise(ends))
        for ends in (ours, theirs)
    )
    print(
        f"\nfrom the end of a round to the end of the next, 6 nodes, median: ours {ours:.2f} s, "
        f"Flower's FedAvg {theirs:.2f} s, ratio {ours / theirs:.2f}"
    )
    assert ours <= 0.75 * theirs


_CONNECTED = (
    'mkdir -p ~/.flwr && printf \'[superlink]\\ndefault = "superlink"\\n[superlink.superlink]\\n'
    'address = "superlink:8000"\\nroot-certificates = "/keys/ca.crt"\\n\' > ~/.flwr/config.toml && '
)


def test_a_late_a_killed_and_a_cut_off_node_do_not_stop_the_run(tmp_path):
    docker("stop", "-t", "1", container("node-4"))
    time.sleep(60)  # until the SuperLink has noticed
    folder = "/results/faults"
    # With one of its two honest clients away, half of a cluster lies: it had better wait.
    own = ("rounds=20", "evaluate=false", "min_replies=3")
    run = start(folder, *own, "start_timeout=5")
    run.wait_for_round(1, folder)
    time.sleep(25)
    docker("start", container("node-4"))
    run.wait_for_round(3, folder)
    docker("kill", container("node-1"))
    network = f"{stack.PROJECT}_fleet"
    docker("network", "disconnect", network, container("node-2"))
    killed = rounds_done(folder)
    time.sleep(20)
    docker("network", "connect", "--alias", "node-2", network, container("node-2"))
    # It may have answered in this round before it died; the next one it misses for certain.
    run.wait_for_round(killed + 2, folder)
    docker("start", container("node-1"))
    assert run.wait() == 0, run.text
    found = result(folder)
    part = found["participation"]
    used = [row["used"] for row in csv.DictReader(rows(folder, "history.csv"))]
    print("\nused per round:", *used)
    assert found["misclustering"] == 0
    assert list(part["joined_late"]) == ["4"]
    assert part["quarantined"] == []
    assert "1" in part["rounds_missed"]
    assert set(part["rounds_missed"]) <= {"1", "2"}
    assert "client 4 joined in round" in run.text
    assert "client 1 was away in" in run.text
    # All are back for the last rounds, and end where they would have if none had been away.
    assert used[-3:] == ["6"] * 3
    expected, _ = simulated(tmp_path, *own)
    assert found["estimation_error"] == pytest.approx(expected["estimation_error"], rel=0.05)


def test_a_run_survives_the_death_of_the_superlink(tmp_path):
    folder = "/results/superlink"
    run = start(folder, "rounds=3", "evaluate=false")
    run.wait_for_round(1, folder)
    docker("kill", container("superlink"))
    time.sleep(5)
    docker("start", container("superlink"))
    assert run.wait() == 0, run.text
    expected, _ = simulated(tmp_path, "rounds=3", "evaluate=false")
    assert result(folder)[ERRORS] == pytest.approx(expected[ERRORS], rel=1e-6)


def test_a_run_whose_executor_dies_is_resumed_by_the_command_that_it_names(tmp_path):
    folder = "/results/executor"
    run = start(folder, "rounds=4", "evaluate=false")
    run.wait_for_round(2, folder)
    docker("kill", container("executor"))
    docker("start", container("executor"))
    assert run.wait() != 0
    assert f"{' '.join(stack.COMPOSE)} run --rm run tagma resume {folder}" in run.text
    compose("stop", "--timeout", "2")  # as if the computer had been switched off in between
    resumed = Run("tagma", "resume", folder, alone=False)
    assert resumed.wait() == 0, resumed.text
    expected, _ = simulated(tmp_path, "rounds=4", "evaluate=false")
    found = result(folder)
    assert found[ERRORS] == pytest.approx(expected[ERRORS], rel=1e-6)
    assert found["participation"]["resumed_before_round"]


NODE = "flower-supernode --superlink proxy:8443 --node-config 'partition-id=9 num-partitions=10'"
WAYS = {
    "no key": (
        f"{NODE} --root-certificates /keys/ca.crt",
        "[code: 2001] SuperNode authentication is enabled",
    ),
    "a strange key": (
        "tagma keys /tmp/k --nodes 1 && "
        f"{NODE} --root-certificates /keys/ca.crt --auth-supernode-private-key /tmp/k/node-0/key",
        "[code: 2004]",
    ),
    "plain HTTP": (
        f"{NODE} --insecure --max-retries 1",
        "could not establish a connection to the SuperLink",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_node_is_refused_with(way):
    command, reason = WAYS[way]
    done = in_a_new("node-0", f'timeout 100 sh -c "{command}" 2>&1', check=False)
    assert done.returncode not in (0, 124)
    assert reason in done.stdout
    assert "SuperNode ID" not in done.stdout


REACH = """
import ssl, sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen
trust = ssl.create_default_context(cafile="/keys/ca.crt")
trust.check_hostname = False
try:
    print(urlopen(Request(sys.argv[1], method="POST", data=b""), timeout=5, context=trust).status)
except HTTPError as answer:
    print(answer.code)
except OSError as problem:
    print("unreachable", problem)
"""


def reached(url: str, service: str = "node-0") -> str:
    return in_a_new(service, f"python3 -c '{REACH}' {url}").stdout.strip().splitlines()[-1]


def test_a_node_cannot_reach_the_control_api():
    assert reached("https://proxy:8443/v1/control/list-runs") == "403"
    assert reached("https://proxy:8443/v1/runtime/pull-messages") == "403"
    direct = "https://superlink:8000/v1/control/list-runs"
    assert reached(direct).startswith("unreachable")
    assert reached(direct, "run").isdigit()  # from the other network it answers
    shape = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    address = docker("inspect", "-f", shape, container("superlink"))
    assert reached(f"https://{address}:8000/v1/control/list-runs").startswith("unreachable")


def test_a_nodes_volume_holds_its_own_key_and_nothing_else():
    assert in_a_new("node-0", "ls -A /keys; id -u").stdout.split() == ["ca.crt", "key", "10001"]


def test_containers_run_without_privileges():
    for service in ("superlink", "executor", "proxy", "node-0"):
        wait_until_running(service)
        shape = "{{.Config.User}} {{.HostConfig.CapDrop}} {{.HostConfig.ReadonlyRootfs}}"
        image = docker("inspect", "-f", "{{.Config.User}}", stack.PROJECT)
        assert image == "tagma"
        assert docker("inspect", "-f", shape, container(service)).endswith("[ALL] true")


def test_containers_have_limits_and_their_logs_do_not_grow():
    for service in ("superlink", "executor", "proxy", "node-0"):
        shape = "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.LogConfig.Config}}"
        memory, cpus, logs = docker("inspect", "-f", shape, container(service)).split(" ", 2)
        assert 0 < int(memory) <= 2 * 2**30
        assert int(cpus) == 10**9
        assert logs == "map[max-file:3 max-size:10m]"
    done = in_a_new("node-0", "dd if=/dev/zero of=/tmp/x bs=1M count=300 2>&1", check=False)
    assert "No space left on device" in done.stdout + done.stderr


def test_certificates_are_renewed_by_one_command_while_nodes_stay():
    serial = (
        "openssl x509 -serial -noout -in /keys/server.crt 2>/dev/null || sha256sum /keys/server.crt"
    )
    before = in_a_new("proxy", serial).stdout
    nodes = [
        docker("inspect", "-f", "{{.State.StartedAt}}", container(f"node-{n}")) for n in range(6)
    ]
    done = subprocess.run(
        ["docker/demo.sh", "renew"], cwd=stack.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_a_new("proxy", serial).stdout != before
    for service in ("superlink", "proxy"):
        wait_until_running(service)
    run = start("/results/renewed", "rounds=1", "evaluate=false")
    assert run.wait() == 0, run.text
    assert result("/results/renewed")["replies"]["rejected"] == {}
    after = [
        docker("inspect", "-f", "{{.State.StartedAt}}", container(f"node-{n}")) for n in range(6)
    ]
    assert after == nodes
