"""From facts to findings: what works, what will not, and what to do, on computers of any kind."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tagma.launch.doctor import doctor_command
from tagma.launch.doctor.facts import GB, MB, Certificate, Docker, Facts, Package, Torch
from tagma.launch.doctor.findings import OK, WARNING, WILL_NOT, findings_of
from tests.command import tagma

NOW = datetime(2026, 11, 16, tzinfo=UTC)
COMMANDS = ("flwr", "flower-superlink", "flower-superexec", "flower-supernode", "git", "make")
WELL = Facts(
    now=NOW,
    python="3.11.7",
    executable="/env/bin/python",
    packages=(
        Package("numpy", ">=2.0", "2.4.6"),
        Package("torch", "~=2.13.0", "2.13.0+cpu"),
        Package("wandb", "<0.31,>=0.21", "0.30.1", "wandb"),
    ),
    torch=Torch("2.13.0+cpu", None, sees_gpu=False, threads=2),
    numpy="2.4.6, openblas 0.3.31 (2 threads)",
    numpy_works=True,
    flower="1.41.0",
    flower_tested="1.41.0",
    flower_problem=None,
    ray_problem=None,
    commands=dict.fromkeys(COMMANDS, "/bin/x"),
    ports_taken=frozenset(),
    loopback=True,
    docker=Docker("/bin/docker", "28.2", compose=("docker compose 2.40",)),
    cores=8,
    memory=16 * GB,
    disk={".": 50 * GB, "/tmp": 50 * GB},
    writable={".": True, "/tmp": True},
    shared_memory=8 * GB,
)  # fmt: skip


def certificate(begins: int, ends: int) -> tuple[Certificate]:
    """One that begins and ends so many days from now."""
    day = timedelta(days=1)
    return (Certificate(Path("keys/proxy/server.crt"), NOW + begins * day, NOW + ends * day),)


def troubles(facts: Facts) -> list[tuple[str, str, str, bool]]:
    found = findings_of(facts)
    return [(f.about, f.state, f.says, f.fails) for f in found if f.state != OK]


def test_where_all_is_well_all_is_ok_and_what_a_run_needs_comes_first():
    found = findings_of(WELL)
    assert {one.state for one in found} == {OK}
    assert [one.needed for one in found] == sorted([one.needed for one in found], reverse=True)
    assert not any(one.fails for one in found)


NEEDED = {
    "an old Python": ({"python": "3.10.4"}, "Python", "3.10.4: Tagma needs 3.11 or later"),
    "a package that is missing": (
        {"packages": (Package("scipy", ">=1.13", None),)},
        "scipy", "is not installed, Tagma asks for scipy>=1.13: pip install 'scipy>=1.13'",
    ),
    "a package that is too old": (
        {"packages": (Package("torch", "~=2.13.0", "2.12.1"),)},
        "torch", "2.12.1 is installed, Tagma asks for torch~=2.13.0",
    ),
    "a torch that cannot be imported": (
        {"torch": "libtorch_cpu.so: cannot open"}, "torch", "cannot be imported (libtorch_cpu.so",
    ),
    "a numpy that cannot be imported": (
        {"numpy": "cannot be imported (x)", "numpy_works": False}, "numpy", "cannot be imported",
    ),
    "a Flower without its private parts": (
        {"flower": "1.50.0", "flower_problem": "Flower 1.50.0 lacks what Tagma uses of 1.41.0"},
        "Flower", "Flower 1.50.0 lacks",
    ),
    "no memory": ({"memory": 300 * MB}, "memory", "0.3 GB free, 8 cores: a run takes 0.3 GB"),
    "a full disk": (
        {"disk": {".": MB, "/tmp": GB}}, "working folder", "the disk is full; make room, or name",
    ),
    "a working folder that is read-only": (
        {"writable": {".": False, "/tmp": True}}, "working folder", "nothing can be written there",
    ),
    "a temporary folder that is read-only": (
        {"writable": {".": True, "/tmp": False}},
        "temporary folder", "/tmp: nothing can be written there; set TMPDIR to another",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NEEDED)
def test_what_a_run_needs_fails(what):
    change, about, says = NEEDED[what]
    (found,) = troubles(replace(WELL, **change))
    assert found[:2] == (about, WILL_NOT)
    assert says in found[2]
    assert found[3]


OTHERS = {
    "another Flower whose parts fit": (
        {"flower": "1.41.1"}, "Flower", WARNING, "tested with 1.41.0: pip install flwr==1.41.0",
    ),
    "little memory": ({"memory": GB}, "memory", WARNING, "enough for the default run"),
    "little disk": ({"disk": {".": 500 * MB}}, "working folder", WARNING, "little for large"),
    "not installed as a package": ({"packages": ()}, "packages", WARNING, "is not known here"),
    "no Ray": ({"ray_problem": "No module named 'ray'"}, "Ray", WILL_NOT, "pip install 'flwr[sim"),
    "a cluster that is away": (
        {"ray_address": "10.0.0.1:6379"}, "Ray", WILL_NOT, "nobody answers at RAY_ADDRESS=10.0.0.1",
    ),
    "small shared memory": ({"shared_memory": 64 * MB}, "Ray", WARNING, "--shm-size=2g"),
    "a taken port": (
        {"ports_taken": frozenset({8443})}, "ports", WARNING, "8443 is taken: `tagma proxy` will",
    ),
    "no Docker": ({"docker": Docker(None)}, "Docker", WILL_NOT, "engine=deployment"),
    "no engine": (
        {"docker": Docker("/bin/docker", None, "Cannot connect to the Docker daemon")},
        "Docker", WILL_NOT, "no engine answers (Cannot connect to the Docker daemon); start it",
    ),
    "no Compose": ({"docker": Docker("/bin/docker", "28")}, "Docker", WILL_NOT, "but no Compose"),
    "an old Compose only": (
        {"docker": Docker("/bin/docker", "28", compose=("docker-compose 1.29.2",))},
        "Docker", WARNING, "Compose 1 is no longer maintained",
    ),
    "no git": ({"commands": WELL.commands | {"git": None}}, "git", WARNING, "is not installed"),
    "a command of Flower's is missing": (
        {"commands": WELL.commands | {"flower-superexec": None}},
        "Flower's commands", WILL_NOT, "flower-superexec not found",
    ),
    "an extra that is missing": (
        {"packages": (WELL.packages[0], Package("wandb", ">=0.21", None, "wandb"))},
        "extra wandb", WILL_NOT, "tracking=wandb: wandb is not installed: pip install 'tagma[wan",
    ),
    "an extra that is too new": (
        {"packages": (WELL.packages[0], Package("wandb", "<0.31", "0.31.0", "wandb"))},
        "extra wandb", WILL_NOT, "wandb 0.31.0 is not <0.31",
    ),
    "an ended certificate": (
        {"certificates": certificate(-400, -1)},
        "certificates", WILL_NOT, "keys/proxy/server.crt: ended on 2026-11-15",
    ),
    "a certificate that ends": (
        {"certificates": certificate(-340, 25)}, "certificates", WARNING, "ends on 2026-12-11",
    ),
    "a clock that is slow": (
        {"certificates": certificate(1, 366)}, "certificates", WILL_NOT, "clock right?",
    ),
    "a damaged certificate": (
        {"unreadable": ("keys/ca.crt: cannot be read",)}, "certificates", WILL_NOT, "keys/ca.crt",
    ),
    "a key that others can read": (
        {"exposed": (Path("keys/node-0/key"),)},
        "certificates", WARNING, "chmod 600 keys/node-0/key",
    ),
    "a file that hides a library": (
        {"hidden": ("torch.py",)}, "working folder", WARNING, "torch.py hides a library",
    ),
    "another checkout": (
        {"other_checkout": "/src/tagma"}, "working folder", WARNING, "is the one in /src/tagma",
    ),
    "what a killed run left": (
        {"leftovers": {Path("/tmp/tagma-x"): 3}}, "leftovers", WARNING, "3 processes go on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_what_a_run_can_do_without_is_said_and_does_not_fail(what):
    change, about, state, says = OTHERS[what]
    (found,) = troubles(replace(WELL, **change))
    assert found[:2] == (about, state)
    assert says in found[2]
    assert not found[3]


def test_without_loopback_neither_ray_nor_a_deployment_works():
    found = troubles(replace(WELL, loopback=False))
    assert [(about, state) for about, state, _, _ in found] == [
        ("Ray", WILL_NOT), ("ports", WILL_NOT),
    ]  # fmt: skip


def test_torch_says_what_device_cuda_would_do():
    for torch, says in (
        (Torch("2.13.0", "13.0", sees_gpu=True, threads=8), "a GPU by CUDA 13.0, device=cuda; 8"),
        (
            Torch("2.13.0", "13.0", sees_gpu=False, threads=1),
            "no GPU answers: device=cuda will not",
        ),
        (WELL.torch, "a build for the CPU: device=cuda will not work; 2 threads"),
    ):
        (found,) = [one for one in findings_of(replace(WELL, torch=torch)) if one.about == "torch"]
        assert found.state == OK
        assert says in found.says


@pytest.mark.parametrize(
    ("change", "code", "verdict"),
    [
        ({}, 0, "`tagma run` works here"),
        (
            {"docker": Docker(None), "ray_problem": "no\x1b[2J"}, 0,
            "`tagma run` works here; 2 of what it can do without does not",
        ),
        ({"python": "3.9.1", "memory": 0}, 1, "`tagma run` will not work here: Python, memory"),
    ],
)  # fmt: skip
def test_the_exit_code_says_whether_a_run_works(change, code, verdict, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_command, "examine", lambda keys: replace(WELL, **change))
    done = tagma("doctor", cwd=tmp_path)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == verdict
    assert "\x1b" not in done.stdout
    told = tagma("doctor", "--json", cwd=tmp_path)
    assert told.returncode == code
    assert json.loads(told.stdout)[0]["about"] == "Python"
