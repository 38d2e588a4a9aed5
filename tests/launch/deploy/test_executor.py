"""The executor that forks clients: what it stands in for, and what it falls back to."""

import io
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from flwr.supercore.constant import TaskType
from flwr.supercore.superexec.executor import LaunchResult
from flwr.supercore.superexec.executor.types import ExecutionSpec

from tagma import flower_private
from tagma.launch.deploy import executor

SPEC = ExecutionSpec(
    task_type=TaskType.CLIENT_APP, runtime_api_address="127.0.0.1:1", token="t", insecure=True,
    root_certificates_path=None, runtime_dependency_install=False, parent_pid=1,
    suppress_output=False, task_id=5,
)  # fmt: skip


class Plain:
    """Flower's executor, which starts processes."""

    def __init__(self):
        self.launched = []

    def launch(self, spec):
        self.launched.append(spec)
        return LaunchResult.accepted()


class Broken(io.StringIO):
    def flush(self):
        raise BrokenPipeError


@pytest.mark.parametrize(
    ("helper", "kind", "forked"),
    [(io.StringIO, TaskType.CLIENT_APP, True), (io.StringIO, TaskType.SERVER_APP, False),
     (Broken, TaskType.CLIENT_APP, False)],
    ids=["client", "server", "no helper"],
)  # fmt: skip
def test_only_clients_are_forked_and_only_if_the_helper_is_there(helper, kind, forked):
    tasks = helper()
    one = executor._forking(Plain, tasks)()
    one.launch(replace(SPEC, task_type=kind))
    assert len(one.launched) == (not forked)
    if forked:
        assert '"token": "t"' in tasks.getvalue()


@pytest.mark.multiprocess
def test_what_is_imported_ahead_is_all_that_a_client_needs():
    code = (
        "import sys\n"
        "from tagma.launch.deploy.executor import warm_up, _import_ahead\n"
        "warm_up()\n"
        "before = set(sys.modules)\n"
        "_import_ahead()\n"
        "own = {m.partition('.')[0] for m in sys.modules}\n"
        "print(own & {'tagma', 'torch'})\n"
        "print(len({m for m in before if m.startswith('hydra')}) > 10)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["set()", "True"]


def test_another_version_of_flower_gets_its_own_command(monkeypatch):
    ran = []
    monkeypatch.setattr(flower_private, "IS_TESTED", False)

    def execv(path, arguments):
        ran.append((path, arguments[1:]))
        raise SystemExit

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(sys, "argv", ["x", "--insecure"])
    with pytest.raises(SystemExit):
        executor.main()
    ((path, arguments),) = ran
    assert path.endswith("/flower-superexec")
    assert arguments == ["--insecure"]


@pytest.mark.multiprocess
def test_the_script_stands_in_for_the_command(tmp_path):
    folder = executor.shim(tmp_path / "bin")
    done = subprocess.run(
        [folder / "flower-superexec", "--version"], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == f"Flower version: {flower_private.TESTED}"
