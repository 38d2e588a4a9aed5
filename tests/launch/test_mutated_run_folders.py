"""Run folders with something changed: reports are made of them, and they are used, or one line."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import strategies as st

import tagma
from tagma.report import write_run_report
from tests.command import tagma as command
from tests.mutations import EXAMPLES, mutated, mutated_value, tried

TINY = ["task=table", "task.data=t.csv", "task.clients=3", "rounds=2", "clustering.k=1",
        "attack=none", "oracle=false"]  # fmt: skip
FILES = ("metrics.json", "history.csv", "clusters.csv", "models.safetensors", "inputs.json",
         ".hydra/hydra.yaml", ".hydra/config.yaml", ".hydra/overrides.yaml")  # fmt: skip
ROWS = np.random.default_rng(0).normal(size=(5, 2))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    desk = tmp_path_factory.mktemp("desk")
    points = np.random.default_rng(1).normal(size=(40, 2))
    lines = [f"{a:.3f},{b:.3f},{int(a > 0)}" for a, b in points]
    (desk / "t.csv").write_text("\n".join(["a,b,target", *lines]) + "\n")
    done = command("run", *TINY, "task.target=target", "hydra.run.dir=run", cwd=desk)
    assert done.returncode == 0, done.stderr
    return desk / "run"


CALLS = {
    "report": write_run_report,
    "load": lambda folder: tagma.load(folder).settings,
    "metrics": lambda folder: tagma.load(folder).metrics,
    "history": lambda folder: tagma.load(folder).history,
    "clients": lambda folder: tagma.load(folder).clients,
    "models": lambda folder: tagma.load(folder).models,
    "plot": lambda folder: tagma.load(folder).plot(),
    "page": lambda folder: tagma.load(folder)._repr_html_(),
    "predict": lambda folder: tagma.load(folder).predict(
        {"a": ROWS[:, 0], "b": ROWS[:, 1]}, cluster=0
    ),
    "assign": lambda folder: tagma.load(folder).assign(
        {"a": ROWS[:, 0], "b": ROWS[:, 1], "target": [0, 1, 0, 1, 1]}
    ),
    "export": lambda folder: tagma.load(folder).export(folder / "m.safetensors", cluster=0),
}


def changes(run):
    """The content of one of the files, changed."""
    some = st.sampled_from(FILES)
    return st.one_of(
        some.flatmap(lambda n: st.tuples(st.just(n), mutated((run / n).read_bytes()))),
        st.sampled_from(["metrics.json", "inputs.json"]).flatmap(
            lambda n: st.tuples(
                st.just(n),
                mutated_value(json.loads((run / n).read_text())).map(
                    lambda value: json.dumps(value).encode()
                ),
            )
        ),
    )


@EXAMPLES
@pytest.mark.filterwarnings("ignore")
def test_any_run_folder_is_used_or_refused_in_one_line(run, examples, tmp_path, monkeypatch):
    monkeypatch.chdir(run.parent)
    folder = tmp_path / "run"

    def use(change):
        (name, content), call = change
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run, folder)
        (folder / name).write_bytes(content)
        CALLS[call](folder)

    tried(st.tuples(changes(run), st.sampled_from(sorted(CALLS))), 60 * examples, use)
