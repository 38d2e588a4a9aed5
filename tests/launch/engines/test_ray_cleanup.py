"""What surrounds a run on Ray: the guard that cleans up, the generated app, a failed start."""

import shlex
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tagma.errors import EngineError
from tagma.launch.engines import superlink
from tagma.launch.engines.flower_run import write_app
from tagma.launch.engines.ray import run_on_ray

# Prints the run's folder and the numbers of its processes: a stubborn child; its grandchild,
# a daemon in a session of its own; and one that, like some of Ray's, has lost its environment.
LAUNCHER = """
import os, subprocess, sys, time
from tagma.launch.engines.process_guard import guarded

CHILD = '''
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        print(os.getpid(), flush=True)
    else:
        os._exit(0)
time.sleep(60)
'''
NO_ENVIRONMENT = '''
import os, sys
print(os.getpid(), flush=True)
os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
'''
with guarded() as shelter:
    print(shelter.folder, flush=True)
    for code, lines in ((CHILD, 2), (NO_ENVIRONMENT, 1)):
        child = shelter.start([sys.executable, "-c", code], os.environ, subprocess.PIPE)
        for _ in range(lines):
            print(child.stdout.readline(), end="", flush=True)
    print("ready", flush=True)
    time.sleep(60)
"""


def alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.multiprocess
def test_a_killed_launcher_leaves_no_process_and_no_folder():
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER], stdout=subprocess.PIPE, text=True
    ) as launcher:
        folder = Path(launcher.stdout.readline().strip())
        processes = [psutil.Process(int(launcher.stdout.readline())) for _ in range(3)]
        assert launcher.stdout.readline() == "ready\n"
        assert folder.is_dir()
        assert all(alive(process) for process in processes)
        launcher.kill()
    deadline = time.monotonic() + 30
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()
    assert not any(alive(process) for process in processes)


def test_the_app_carries_overrides_unharmed(tmp_path):
    overrides = [
        "note='two words'",
        'note="say \\"no\\""',
        "task.sizes=[1, 2,3]",
        "+extra={a: b=c}",
        r"path=C:\new\table",
        "empty=",
        "unicode=β",
    ]
    app = write_app(tmp_path / "app", overrides)
    parsed = tomllib.loads((app / "pyproject.toml").read_text(encoding="utf-8"))
    assert shlex.split(parsed["tool"]["flwr"]["app"]["config"]["overrides"]) == overrides


@pytest.mark.multiprocess
def test_a_superlink_that_ends_at_once_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(superlink, "command_path", lambda name, env: sys.executable)
    log = tmp_path / "run.log"
    with pytest.raises(EngineError) as raised:
        run_on_ray([], 2, print, cpus_per_client=1, log=log)
    assert str(raised.value) == f"the SuperLink ended at once with exit code 2 (log: {log})"
    assert "--insecure" in log.read_text()
