"""`tagma predict`, `assign` and `export`: new data for runs of every task, without the old."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from pyarrow import parquet
from safetensors.torch import load_file

import tagma
from tests.command import tagma as command
from tests.launch.test_own_data_page import BLOCKS

TABLE = [
    "task=table", "task.data=patients.csv", "task.target=ill", "task.features=[age,dose,pulse]",
    "task.split=column", "task.client_column=hospital", "task.clients=null",
    "task.clusters_by=column", "task.cluster_column=region", "clustering.k=3", "attack=none",
    "rounds=3", "oracle=false", "hydra.run.dir=run",
]  # fmt: skip
PICTURES = [
    "task=images", "task.data=pictures.npz", "model=cnn", "task.clients=6", "task.clusters=2",
    "task.samples=40", "clustering.k=2", "attack=none", "rounds=1", "oracle=false",
    "hydra.run.dir=run",
]  # fmt: skip


def made(tmp_path_factory, name, words):
    """A run on the data of the page about own data, and these data elsewhere."""
    desk = tmp_path_factory.mktemp(name)
    script = next(text for _, text in BLOCKS if text.startswith("# make_data.py"))
    (desk / "make_data.py").write_text(script)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk)
        exec(compile(script, "make_data.py", "exec"), {})
    done = command("run", *words, cwd=desk)
    assert done.returncode == 0, done.stderr
    for file in ("patients.csv", "pictures.npz"):
        (desk / file).rename(desk / f"moved-{file}")
    return desk


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return made(tmp_path_factory, "table", TABLE)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return made(tmp_path_factory, "pictures", PICTURES)


def rows_of(desk, hospital):
    with (desk / "moved-patients.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["hospital"] == hospital]


def written(path, rows, columns):
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    return str(path)


def predicted(done):
    assert done.returncode == 0, done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines()[1:]]


def test_a_hospital_is_assigned_and_its_patients_predicted_in_their_own_words(table, tmp_path):
    rows = rows_of(table, "h04")
    theirs = written(tmp_path / "one.csv", rows, ["pulse", "age", "dose", "region", "ill"])
    done = command("assign", str(table / "run"), theirs, cwd=tmp_path)
    clients = tagma.load(table / "run").clients
    cluster = int(clients["assigned"][4])
    assert done.stdout.startswith(f"cluster: {cluster} (distance: ")
    said = predicted(command("predict", str(table / "run"), theirs, cwd=tmp_path))
    true = [row["ill"] for row in rows]
    assert set(said) == {"yes", "no"}
    right = np.mean([a == b for a, b in zip(said, true, strict=True)])
    assert right > 0.8
    # Scaled as in the training: a row alone, far from the mean of its own file, changes nothing.
    alone = written(tmp_path / "alone.csv", rows[:1], ["age", "dose", "pulse"])
    words = ("predict", str(table / "run"), alone, "--cluster", str(cluster))
    assert predicted(command(*words, cwd=tmp_path)) == said[:1]
    done = command(*words, "--out", "out.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out.csv").read_text() == f"example,prediction\n0,{said[0]}\n"


def test_every_source_of_a_table_gives_the_same(table, tmp_path):
    run, rows = tagma.load(table / "run"), rows_of(table, "h05")[:9]
    columns = {name: [float(row[name]) for row in rows] for name in ("dose", "pulse", "age")}
    parquet.write_table(pa.table(columns), tmp_path / "new.parquet")
    np.savez(tmp_path / "new.npz", **columns)
    matrix = np.array([columns[name] for name in ("age", "dose", "pulse")]).T
    first = run.predict(columns, cluster=1)
    frame = pytest.importorskip("pandas").DataFrame(columns)
    others = frame, matrix, torch.tensor(matrix), tmp_path / "new.parquet", tmp_path / "new.npz"
    for other in others:
        assert run.predict(other, cluster=1).tolist() == first.tolist()


@pytest.mark.parametrize(
    ("columns", "change", "said"),
    [
        (["age", "dose"], {}, "pulse: there is no such column; there are age, dose"),
        (["age", "dose", "pulse"], {"dose": ""}, "dose: is empty or not finite in row 1"),
        (["age", "dose", "pulse"], {"dose": "nan"}, "dose: is empty or not finite in row 1"),
        (["age", "dose", "pulse"], {"dose": "much"}, "dose: holds text, such as"),
        (["age", "dose", "pulse", "ill"], {"ill": "maybe"}, "there is no class 'maybe'"),
    ],
)
def test_a_table_that_does_not_fit_is_one_line(columns, change, said, table, tmp_path):
    rows = rows_of(table, "h00")
    file = written(tmp_path / "new.csv", [rows[0] | change, *rows[1:]], columns)
    done = command("predict", str(table / "run"), file, "--cluster", "0", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tagma: error: {file}: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_pictures_from_anywhere_are_classified(pictures, tmp_path):
    run, data = tagma.load(pictures / "run"), np.load(pictures / "moved-pictures.npz")
    inputs, targets = data["inputs"], data["targets"]
    found = run.assign(inputs[:40], targets[:40]).nearest
    first = run.predict(inputs, cluster=found)
    assert (first == targets).mean() > 0.9
    np.savez(tmp_path / "new.npz", inputs=inputs)
    (tmp_path / "loose").mkdir()
    for number, picture in enumerate(inputs[:12]):
        Image.fromarray(picture).save(tmp_path / f"loose/{number:02d}.png")
    assert run.predict(tmp_path / "new.npz", cluster=found).tolist() == first.tolist()
    assert run.predict(tmp_path / "loose", cluster=found).tolist() == first[:12].tolist()
    with pytest.raises(tagma.TagmaError, match="images are fractions, and were bytes"):
        run.predict(inputs / 255, cluster=found)
    with pytest.raises(tagma.TagmaError, match=r"\(1, 8, 4\) each, those of the run \(1, 8, 8\)"):
        run.predict(inputs[:, :, :4], cluster=found)


def test_an_exported_program_says_of_raw_inputs_what_predict_says(pictures, tmp_path):
    run, inputs = tagma.load(pictures / "run"), np.load(pictures / "moved-pictures.npz")["inputs"]
    said = run.predict(inputs, cluster=1)
    for ending in ("pt", "pt2"):
        words = ("export", str(pictures / "run"), "--cluster", "1", "--out", f"model.{ending}")
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    raw = torch.tensor(inputs[:, None]).float()
    programs = torch.jit.load(tmp_path / "model.pt"), torch.export.load(tmp_path / "model.pt2")
    for program in (programs[0], programs[1].module()):
        assert program(raw).argmax(1).tolist() == said.tolist()


def test_a_module_loads_what_is_exported_and_what_a_run_has(table, tmp_path):
    run = tagma.load(table / "run")
    file = run.export(tmp_path / "model.safetensors", cluster=2)
    arrays = load_file(file)
    assert arrays.keys() == run.models[2].keys()
    net = torch.nn.Sequential(torch.nn.Linear(3, 2))
    for state in (arrays, run.models[2]):
        net.load_state_dict(state)
        assert torch.equal(net[0].weight, arrays["0.weight"])
    with pytest.raises(tagma.TagmaError, match=r"no torch module; write .safetensors"):
        run.export(tmp_path / "model.pt", cluster=0)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_run_without_what_scaled_its_inputs_says_so(table, tmp_path):
    shutil.copytree(table / "run", tmp_path / "run")
    file = tmp_path / "run/inputs.json"
    whole = file.read_text()
    nothing = json.dumps(json.loads(whole) | {"scale": 0})
    for content in (None, "{", '{"kind": "other"}', whole.replace("offset", "of"), nothing):
        file.unlink() if content is None else file.write_text(content)
        with pytest.raises(tagma.TagmaError, match=r"inputs.json") as error:
            tagma.load(tmp_path / "run").predict(np.zeros((2, 3)), cluster=0)
        assert "\n" not in str(error.value)


def test_points_are_scaled_as_those_of_mean_estimation(features, tmp_path):
    words = [
        "task=mean_estimation", f"task.data={features}", "task.scaling=standard", "task.gamma=null",
        "task.clusters=3", "task.min_cluster=20", "task.samples=3", "clustering.k=3", "rounds=1",
        "attack=none", "oracle=false",
    ]  # fmt: skip
    run = tagma.run(*words, folder=tmp_path / "run")
    raw = np.load(features)["X"]
    truth = {}
    for row in range(2):
        found = run.assign(raw[42 * row : 42 * row + 30])
        truth[row] = found.cluster
        assert found.cluster is not None
    assert len(set(truth.values())) == 2
    with pytest.raises(tagma.TagmaError, match="predict nothing"):
        run.predict(raw)


@pytest.mark.parametrize("strategy", ["fedavg", "ifca", "cfl", "threshold", "local", "oracle"])
def test_a_client_is_assigned_after_every_algorithm(strategy, tmp_path):
    small = ["task.clients=8", "task.clusters=2", "task.dim=3", "task.samples=40"]
    run = tagma.run(
        *small, f"strategy={strategy}", "attack=none", "oracle=false", "rounds=4",
        engine="vectorised", folder=tmp_path / "run",
    )  # fmt: skip
    source = np.random.default_rng(1)
    inputs = source.normal(size=(50, 3))
    for k, model in run.models.items():
        targets = inputs @ model["coefficients"]
        found = run.assign(inputs, targets)
        assert found.loss == pytest.approx(0, abs=1e-9)
        near = run.models[found.cluster]["coefficients"]
        assert np.allclose(near, run.models[k]["coefficients"])


OWN = """
import numpy as np
from tagma.tasks.task import Data
from tagma.tasks.torch_module import TorchModule
from torch import nn


class Signs(TorchModule):
    clients, clusters = 4, 1

    def __init__(self, *, seed):
        self.seed = seed

    def module(self):
        return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))

    def train(self, client):
        inputs = np.random.default_rng(client).normal(size=(40, 2)).astype(np.float32)
        return Data(inputs, (inputs[:, 0] > 0).astype(np.int64))

    test = train

    def truth(self):
        return None

    def warnings(self):
        return []
"""


def test_a_task_of_ones_own_predicts_assigns_and_exports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("signs_task.py").write_text(OWN)
    Path("conf/task").mkdir(parents=True)
    Path("conf/task/signs.yaml").write_text("_target_: signs_task.Signs\n")
    made = tagma.run(
        f"hydra.searchpath=[file://{tmp_path}/conf]", "task=signs", "strategy=fedavg",
        "optimiser=local", "training=adam", "training.epochs=20", "solver=training",
        "clustering.k=1", "attack=none", "rounds=4", "oracle=false",
    )  # fmt: skip
    inputs = np.random.default_rng(9).normal(size=(50, 2))
    truth = (inputs[:, 0] > 0).astype(int)
    with pytest.raises(tagma.TagmaError, match="trust=True"):
        tagma.load(made.folder).predict(inputs)
    run = tagma.load(made.folder, trust=True)
    said = run.predict(inputs)
    assert (said == truth).mean() > 0.9
    assert run.assign(inputs, truth).cluster == 0
    program = torch.jit.load(run.export("model.pt"))
    assert program(torch.tensor(inputs).float()).argmax(1).tolist() == said.tolist()
