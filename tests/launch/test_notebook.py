"""docs/notebook.ipynb, that very file, in an empty folder outside the project."""

import re
import shutil
from ast import literal_eval
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]


def text_of(cell):
    """What a cell shows last, as text."""
    return next(out["data"]["text/plain"] for out in cell.outputs[::-1] if "data" in out)


@pytest.mark.slow
@pytest.mark.multiprocess
def test_a_reader_who_runs_the_notebook_arrives(tmp_path):
    shutil.copy(ROOT / "docs/notebook.ipynb", tmp_path)
    notebook = nbformat.read(tmp_path / "notebook.ipynb", 4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources)
    client.execute()  # an error in a cell ends it
    by_source = {cell.source.split("\n")[0]: cell for cell in notebook.cells}
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
