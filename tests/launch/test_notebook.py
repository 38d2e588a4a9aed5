"""The notebooks of docs/, these very files, each in an empty folder outside the project."""

import os
import re
import shutil
import sys
from ast import literal_eval
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]


def text_of(cell):
    """What a cell shows last, as text."""
    return next(out["data"]["text/plain"] for out in cell.outputs[::-1] if "data" in out)


def executed(name, folder):
    """The cells of a notebook by their first lines."""
    shutil.copy(ROOT / "docs" / name, folder)
    notebook = nbformat.read(folder / name, 4)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client.execute(env=os.environ | {"PATH": path})  # an error in a cell ends it
    return notebook, {cell.source.split("\n")[0]: cell for cell in notebook.cells}


def cell_of(notebook, words):
    return next(cell for cell in notebook.cells if words in cell.source)


@pytest.mark.slow
@pytest.mark.multiprocess
def test_a_reader_who_runs_the_notebook_arrives(tmp_path):
    notebook, by_source = executed("notebook.ipynb", tmp_path)
    first = by_source["import tagma"].outputs
    html = next(out["data"]["text/html"] for out in first if "data" in out)
    assert "<img" in html
    assert "http" not in html
    printed = "".join(out["text"] for out in first if out.get("name") == "stdout")
    assert printed.split("\r")[-1].strip() == ""  # the line of progress is gone
    assert text_of(by_source["import numpy as np"]) == "True"
    assert text_of(by_source["again = tagma.load(sides.folder, trust=True)"]) == "True"
    place = by_source["names = (points @ [1.0, -1.0, 0.5, 0.0] > 0).astype(int)"]
    own, other, share = literal_eval(text_of(place))
    assert {own, other} == {0, 1}
    assert share > 0.9
    attacked = next(cell for cell in notebook.cells if cell.source.startswith("attacked ="))
    assert min(literal_eval(text_of(attacked))) > 0.85
    compared = next(cell for cell in notebook.cells if cell.source.startswith("ours ="))
    lines = "".join(out["text"] for out in compared.outputs if out.get("name") == "stdout")
    errors = [float(error) for error in re.findall(r"error ([0-9.]+)", lines)]
    paper, ours, *_ = errors[-3:]
    assert ours < paper / 4
    made = {path.name for path in tmp_path.iterdir()}
    assert made - {"__pycache__"} == {
        "notebook.ipynb", "outputs", "conf", "strategies", "tasks.py", "sides.safetensors",
        "sides.pt",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.multiprocess
def test_the_attack_of_the_notebook_hurts_and_its_defences_hold(tmp_path):
    notebook, _ = executed("attack.ipynb", tmp_path)
    errors = literal_eval(text_of(cell_of(notebook, "nobody attacks")))
    assert errors["undefended"] > 10 * errors["nobody attacks"]
    assert max(errors["own rule"], errors["preset=tagma"]) < 2 * errors["nobody attacks"]
    assert "tagma" in text_of(cell_of(notebook, "leaderboard"))
    assert (tmp_path / "outputs/bench/grid/tables/leaderboard.tex").is_file()


@pytest.mark.slow
@pytest.mark.multiprocess
def test_the_models_of_the_notebook_about_own_data_are_right_for_their_groups(tmp_path):
    notebook, _ = executed("own-data.ipynb", tmp_path)
    one, groups = literal_eval(text_of(cell_of(notebook, "strategy=fedavg")))
    assert one < 0.7 < 0.9 < groups
    misclustered, accuracy = literal_eval(text_of(cell_of(notebook, "attack=sign_flip")))
    assert misclustered == 0
    assert accuracy > 0.9
    assert literal_eval(text_of(cell_of(notebook, "assign")))[1] > 0.9
    assert {"model.safetensors", "model.pt"} <= {path.name for path in tmp_path.iterdir()}
