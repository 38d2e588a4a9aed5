"""Ctrl-C and SIGTERM: one line, 130 or 143, whatever a command is doing, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.command import tagma
from tests.conftest import SMALL

pytestmark = pytest.mark.multiprocess

ENDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}
IMPORTS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run in the background
name, number = sys.argv[1], int(sys.argv[2])


class AtImport:
    @staticmethod
    def find_spec(wanted, path=None, target=None):
        if wanted == name:
            os.kill(os.getpid(), number)


sys.meta_path.insert(0, AtImport)
sys.argv = ["tagma", *sys.argv[3:]]
from tagma.launch.cli import main
main()
"""
RUN = ["run", *SMALL, "task=mixture_logcosh", "rounds=1", "hydra.run.dir=out"]


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize(
    "module", ["rich.console", "hydra", "numpy", "numpy.linalg", "flwr.app", "tagma.launch.run"]
)
def test_a_signal_while_modules_are_imported_is_one_line(module, number, tmp_path):
    command = [sys.executable, "-c", IMPORTS, module, str(int(number)), *RUN]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    code, word = ENDS[number]
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"tagma: error: {word}\n")
    assert not list(tmp_path.iterdir())


def test_a_signal_while_a_library_is_imported_later_is_no_defect(tmp_path):
    command = [sys.executable, "-c", IMPORTS, "torch", str(int(signal.SIGTERM)), *RUN]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 143
    assert done.stderr.splitlines()[-1] == "tagma: error: terminated"
    assert "Traceback" not in done.stderr


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "tagma"
from tagma.launch.cli import main
main()
"""
LONG = [*SMALL, "rounds=100000", "oracle=false"]


def started(*words, cwd):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended_by(number, process, sign):
    """Wait for the sign, then signal; its children are gone, and it says one line in the end."""
    deadline = time.monotonic() + 120
    while not sign():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    code, word = ENDS[number]
    assert process.returncode == code
    assert errors.splitlines()[-1] == f"tagma: error: {word}"
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    return children, errors


def rounds_in(folder):
    file = folder / "history.csv"
    return file.read_text().count("\n") - 1 if file.exists() else 0


def test_a_run_and_its_resume_keep_their_checkpoint(tmp_path):
    out = tmp_path / "out"
    run = started("run", *LONG, "hydra.run.dir=out", cwd=tmp_path)
    _, said = ended_by(signal.SIGTERM, run, lambda: rounds_in(out) > 3)
    assert "go on from its last round with: tagma resume" in said
    before = rounds_in(out)
    resumed = started("resume", "out", cwd=tmp_path)
    ended_by(signal.SIGINT, resumed, lambda: rounds_in(out) > before + 3)
    done = tagma("resume", "out", f"rounds={rounds_in(out) + 2}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((out / "metrics.json").read_text())
    assert len(metrics["participation"]["resumed_before_round"]) == 2
    assert not [path.name for path in out.iterdir() if path.name.startswith(".") and path.is_file()]


def test_a_bench_ends_its_workers(tmp_path):
    words = ["bench", "quick", *LONG, "bench.folder=out", "bench.workers=2", "seeds=1"]
    bench = started(*words, cwd=tmp_path)
    cells = tmp_path / "out/cells"
    children, _ = ended_by(signal.SIGTERM, bench, lambda: list(cells.glob("*.claim")))
    assert children
    assert not list(cells.glob("*.claim"))


def test_a_comparison_leaves_nothing(tmp_path):
    (tmp_path / "tmp").mkdir()
    os.environ["TMPDIR"] = str(tmp_path / "tmp")
    try:
        process = started("compare", *LONG[:-1], cwd=tmp_path)
    finally:
        del os.environ["TMPDIR"]
    ended_by(signal.SIGTERM, process, lambda: list((tmp_path / "tmp").glob("*/history.csv")))
    assert not list((tmp_path / "tmp").iterdir())
