"""docs/own-data.md, step by step, in an empty folder outside the project."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import tagma

PAGE = (Path(__file__).parents[2] / "docs/own-data.md").read_text()
BLOCKS = re.findall(r"^```(python|bash)\n(.*?)^```", PAGE, re.S | re.M)


@pytest.mark.slow
def test_a_reader_who_follows_the_page_arrives(tmp_path):
    tables = []
    for kind, text in BLOCKS:
        if kind == "python":
            (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text)
            continue
        for line in text.splitlines():
            words = shlex.split(line)
            if words[0] == "python":
                script = [sys.executable, *words[1:]]
                subprocess.run(script, cwd=tmp_path, check=True, capture_output=True)
                continue
            folder = next((w.partition("=")[2] for w in words if w.startswith("hydra.run")), "out")
            here = [] if folder == "mine" else ["hydra.run.dir=out"]
            done = tagma(*words[1:], *(here if words[1] == "run" else []), cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            if words[1] != "run":
                continue
            tables.append(json.loads((tmp_path / folder / "metrics.json").read_text()))
    first, module, ours, fedavg, ifca, pictures = tables
    assert first["misclustering"] == ours["misclustering"] == 0
    assert min(t["accuracy"]["mean"] for t in (first, module, ours, ifca)) > 0.85
    assert fedavg["accuracy"]["mean"] < 0.7
    assert pictures["accuracy"]["mean"] > 0.9
    assert "r2" not in first
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 81
    assert (tmp_path / "model.pt").is_file()
