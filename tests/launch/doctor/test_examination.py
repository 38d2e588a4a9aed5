"""The facts of this very computer and of folders made for it."""

import socket
from pathlib import Path

import pytest

from tagma.launch.deploy.keys import make_keys
from tagma.launch.doctor import examination
from tagma.launch.doctor.examination import examine
from tagma.launch.doctor.facts import Facts, Torch
from tagma.launch.doctor.findings import FLOWERS_OWN, PORTS, findings_of


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> Facts:
    desk = tmp_path_factory.mktemp("desk")
    make_keys(desk / "keys", nodes=1, superlink=["localhost"], proxy=["localhost"])
    (desk / "keys/ca.key").chmod(0o644)
    (desk / "keys/proxy/server.crt").write_text("no certificate")
    (desk / "torch.py").touch()
    (desk / "json").mkdir()
    (desk / "json/__init__.py").touch()
    (desk / "mine.py").touch()
    (desk / "numpy").mkdir()  # without __init__.py it hides nothing
    with pytest.MonkeyPatch.context() as patch, socket.socket() as taken:
        patch.chdir(desk)
        patch.setattr(examination, "_ANSWER_SECONDS", 3)
        patch.setenv("RAY_ADDRESS", "127.0.0.1:9")
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        patch.setattr(examination, "PORTS", {taken.getsockname()[1]: "x"})
        return examine(Path("keys"))


def test_a_run_works_where_the_tests_do(facts):
    assert not [one for one in findings_of(facts) if one.fails]
    assert isinstance(facts.torch, Torch)
    assert facts.flower == facts.flower_tested


def test_all_that_tagma_asks_for_is_looked_at_and_of_extras_what_belongs_to_them(facts):
    names = {(one.name, one.extra) for one in facts.packages}
    assert {("flwr", ""), ("torch", ""), ("wandb", "wandb"), ("datasets", "datasets")} <= names
    assert not {name for name, extra in names if not extra} & {"pytest", "wandb", "datasets"}
    assert all(one.version for one in facts.packages if not one.extra)


def test_certificates_are_read_and_keys_that_others_can_read_named(facts):
    assert [str(one.path) for one in facts.certificates] == [
        "keys/ca.crt", "keys/superlink/server.crt",
    ]  # fmt: skip
    assert all(one.begins < facts.now < one.ends for one in facts.certificates)
    assert [text.partition(":")[0] for text in facts.unreadable] == ["keys/proxy/server.crt"]
    assert facts.exposed == (Path("keys/ca.key"),)


def test_only_what_is_first_on_the_path_of_a_script_hides_a_library(facts):
    assert facts.hidden == ("json", "torch.py")
    assert facts.other_checkout is None


def test_a_port_that_somebody_listens_on_is_taken_and_a_cluster_that_is_away_is(facts):
    assert len(facts.ports_taken - {FLOWERS_OWN}) == 1
    assert facts.loopback
    assert not facts.ray_answers
    assert set(PORTS) == {8000, 8443, 9094}


def test_another_checkout_is_told_from_the_one_that_is_used(tmp_path):
    for name in ("tagma/__init__.py", "launch/cli.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    here = Path(examination.tagma.__file__).parents[1]
    assert examination._other_checkout(tmp_path) == str(here)
    assert examination._other_checkout(here) is None


def test_a_folder_of_a_run_without_a_guard_is_left_over(tmp_path, monkeypatch):
    (tmp_path / "tagma-x/cwd").mkdir(parents=True)
    assert tmp_path / "tagma-x" not in examination._leftovers(tmp_path), "it may just begin"
    monkeypatch.setattr(examination.time, "time", lambda: 4e9)
    assert examination._leftovers(tmp_path)[tmp_path / "tagma-x"] == 0


def test_full_disks_are_found_and_no_error(tmp_path, monkeypatch):
    """Python names no temporary folder where it cannot write to any."""

    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert "/tmp" in examine(tmp_path / "keys").disk
