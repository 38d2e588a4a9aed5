"""A user's own csv, npz and torch module, from a folder outside the project, on every engine."""

import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

MODULE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=5):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.second = nn.Linear(width, 2)

    def forward(self, inputs):
        return self.second(torch.tanh(self.first(inputs)))
"""
SHORT = ["rounds=2", "oracle=false", "attack=none", "clustering.k=2", "task.clients=4"]
TABLE = ["task=table", "task.target=ill", "task.features=[age,dose,pulse]", *SHORT]
ENGINES = {
    "vectorised": [],
    "ray": ["engine.cpus_per_client=1"],
    "deployment": ["engine.local_nodes=4"],
}


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A folder with a csv, its parts, an npz of pictures and a module."""
    folder = tmp_path_factory.mktemp("mine")
    random = np.random.default_rng(0)
    rows = [
        f"{20 + i % 50},{x:.4f},{random.normal():.4f},{'yes' if x > 0 else 'no'}"
        for i, x in enumerate(random.normal(size=120))
    ]
    header = "age,dose,pulse,ill"
    (folder / "mine.csv").write_text("\n".join([header, *rows]))
    for client in range(4):
        part = "\n".join([header, *rows[client::4]])
        (folder / f"part-{client}.csv").write_text(part)
    pictures = random.integers(0, 256, (80, 6, 6), dtype=np.uint8)
    np.savez(folder / "pictures.npz", inputs=pictures, targets=np.arange(80) % 3)
    (folder / "net.py").write_text(MODULE)
    return folder


def run(folder, name, *settings):
    command = [sys.executable, "-m", "tagma.launch.cli", "run", *settings]
    done = subprocess.run(
        [*command, f"hydra.run.dir={name}"], cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return load_file(folder / name / "models.safetensors")


def assert_equal(found, wanted, digits):
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert np.abs(found[name] - array).max() <= digits, name


@pytest.fixture(scope="module")
def by_module(outside):
    return run(outside, "here", *TABLE, "task.data=mine.csv", "model._target_=net.Net")


@pytest.mark.multiprocess
@pytest.mark.parametrize("engine", ENGINES)
def test_a_csv_and_a_module_give_the_same_models_on_every_engine(outside, by_module, engine):
    found = run(
        outside, engine, *TABLE, "task.data=mine.csv", "model._target_=net.Net",
        f"engine={engine}", *ENGINES[engine],
    )  # fmt: skip
    assert_equal(found, by_module, 1e-4 if engine == "vectorised" else 1e-6)


@pytest.mark.multiprocess
def test_the_module_loads_its_models(outside, by_module, monkeypatch):
    import torch

    monkeypatch.syspath_prepend(str(outside))
    from net import Net

    module = Net()
    state = {n[2:]: torch.from_numpy(a) for n, a in by_module.items() if n.startswith("1/")}
    module.load_state_dict(state)
    assert np.array_equal(module.first.weight.detach(), by_module["1/first.weight"])


@pytest.mark.multiprocess
def test_nodes_with_their_own_files_learn_what_clients_here_do(outside):
    settings = [*TABLE, "task.scaling=none", "task.classes=[no,yes]"]
    here = run(outside, "parts", *settings, 'task.data="part-{client}.csv"')
    there = run(
        outside, "nodes", *settings, "task.data=null", "engine=deployment",
        "engine.local_nodes=4", 'engine.data_path="part-{client}.csv"',
    )  # fmt: skip
    assert_equal(there, here, 0)


@pytest.mark.multiprocess
def test_pictures_in_an_npz_file_and_a_small_cnn(outside):
    settings = ["task=images", "task.data=pictures.npz", "model=cnn", *SHORT, "task.clusters=2"]
    here = run(outside, "cnn", *settings)
    assert_equal(run(outside, "cnn-arrays", *settings, "engine=vectorised"), here, 1e-4)
    assert here["0/0.weight"].shape == (8, 1, 3, 3)
