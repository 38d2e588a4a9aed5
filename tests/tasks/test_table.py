import bz2
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tagma.errors import SettingError
from tagma.settings import compose
from tagma.tasks.data.table_source import read_table
from tagma.tasks.task import LeastSquares, layout_of
from tagma.tasks.task_choice import task_of

HEADER = "age,dose,hospital,region,ill,score"
ROWS = [
    f"{20 + i},{(7 * i) % 11 / 2},h{i % 6},r{i % 3},{'yes' if i % 4 else 'no'},{i / 10}"
    for i in range(60)
]
BASE = {"task": "table", "task.target": "ill", "task.features": ["age", "dose"], "task.clients": 6}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n")
    return path


def make(path, **options):
    chosen = BASE | {"task.data": str(path)} | {_key(k): v for k, v in options.items()}
    return task_of(compose([f"{key}={_text(value)}" for key, value in chosen.items()]))


def _key(name):
    return name.replace("___target_", "._target_").replace("__", ".")


def _text(value):
    return value if isinstance(value, str) and "{" not in value else json.dumps(value)


def every_row(task):
    return np.concatenate([task.train(client).inputs for client in range(task.clients)])


def test_rows_are_shared_out_and_scaled_by_those_that_are_trained_on(file):
    task = make(file)
    rows = every_row(task)
    assert rows.shape == (48, 2)
    assert np.allclose(rows.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(rows.std(axis=0), 1, atol=1e-5)
    assert len(np.unique(rows, axis=0)) == 48
    assert task.test(0) is task.test(5)
    assert len(task.test(0)) == 12
    assert list(task.metrics) == ["accuracy", "auc", "loss"]


def test_without_scaling_numbers_are_those_of_the_file(file):
    task = make(file, task__scaling="none")
    assert set(every_row(task)[:, 0].tolist()) < set(range(20, 80))
    unit = every_row(make(file, task__scaling="unit"))
    assert (unit.min(), unit.max()) == (0, 1)


def test_clients_are_the_values_of_a_column(file):
    task = make(
        file, task__split="column", task__client_column="hospital", task__clients=None,
        task__scaling="none",
    )  # fmt: skip
    assert task.clients == 6
    for client in range(6):
        ages = np.concatenate([task.train(client).inputs, task.test(client).inputs])[:, 0]
        assert sorted(ages.tolist()) == list(range(20 + client, 80, 6))
        assert len(task.test(client)) == 2
    assert not task.truth().knows_clusters


def test_clusters_are_the_values_of_another(file):
    task = make(
        file, task__split="column", task__client_column="hospital", task__clients=None,
        task__clusters_by="column", task__cluster_column="region", task__scaling="none",
    )  # fmt: skip
    assert task.truth().labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert {int(age) % 3 for age in task.test(4).inputs[:, 0]} == {(20 + 1) % 3}
    assert len(task.test(4)) == 4  # all that are held out of its cluster


def test_clusters_by_a_column_without_one_for_clients(file):
    task = make(
        file, task__clusters_by="column", task__cluster_column="region", task__scaling="none"
    )
    assert task.clusters == 3
    for client in range(6):
        of_cluster = (20 + task.truth().labels[client]) % 3
        ages = task.train(client).inputs[:, 0]
        assert {int(age) % 3 for age in ages} == {of_cluster}


def test_numbers_are_predicted_in_closed_form(file):
    task = make(
        file, task__target="score", task__kind="regression", model="linear", task__scaling="none"
    )
    assert isinstance(task, LeastSquares)
    inputs, targets = task.train(2).inputs, task.train(2).targets
    model = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    assert np.allclose(model, [0.1, 0, -2], atol=1e-9)  # score = (age - 20) / 10
    assert task.evaluate(model, task.test(0))["r2"] == pytest.approx(1)
    assert {name: array.shape for name, array in task.state_dict(model, {}).items()} == {
        "weight": (1, 2), "bias": (1,)
    }  # fmt: skip
    assert not isinstance(make(file), LeastSquares)


def test_every_format_is_the_same_table(tmp_path, file):
    table = read_table(str(file))
    parquet.write_table(pa.table(dict(table.columns)), tmp_path / "mine.parquet")
    columns = {name: values for name, values in table.columns.items() if name in ("ill", "region")}
    matrix = np.column_stack([table.columns["age"], table.columns["dose"]])
    np.savez(tmp_path / "mine.npz", inputs=matrix, **columns)
    lines = [
        f"{int(ill == 'yes')} qid:{i % 6} 1:{age} 2:{dose}"
        for i, (ill, (age, dose)) in enumerate(zip(columns["ill"], matrix, strict=True))
    ]
    (tmp_path / "mine.txt.bz2").write_bytes(bz2.compress("\n".join(lines).encode()))
    wanted = every_row(make(file))
    for name, options in {
        "mine.parquet": {}, "mine.npz": {"task__features": None},
        "mine.txt.bz2": {"task__features": None, "task__target": None},
    }.items():  # fmt: skip
        task = make(tmp_path / name, **options)
        assert np.allclose(every_row(task), wanted, atol=1e-6), name


def test_a_file_for_every_client(tmp_path, file):
    for client in range(3):
        own = [HEADER, *ROWS[client::3]]
        (tmp_path / f"part-{client}.csv").write_text("\n".join(own))
    options = {"task__clients": 3, "task__scaling": "none", "task__classes": ["no", "yes"]}
    task = make(f"{tmp_path}/part-{{client}}.csv", **options)
    for client in range(3):
        ages = np.concatenate([task.train(client).inputs, task.test(client).inputs])[:, 0]
        assert sorted(ages.tolist()) == list(range(20 + client, 80, 3))
    apart = make("null", **options, task__inputs=2).with_data(f"{tmp_path}/part-1.csv")
    assert layout_of(apart) == layout_of(task)
    assert np.array_equal(apart.train(1).inputs, task.train(1).inputs)
    assert np.array_equal(apart.test(1).targets, task.test(1).targets)


def spoilt(file, old, new):
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task__target": "il"}, "task.target=il: there is no such column; there are age, dose"),
        ({"task__target": None}, "task.target=None: name the column to predict: age, dose"),
        ({"task__features": ["age", "region"]}, "task.features=region: holds text, such as 'r0'"),
        ({"task__features": None}, "task.features=hospital: holds text"),
        ({"task__target": "region", "task__kind": "regression"}, "task.target=region: holds text"),
        ({"task__clients": 61}, "task.clients=61: some client would have no example"),
        ({"task__samples": 49}, "task.samples=49: must be a number, .* up to 48"),
        ({"task__held_out": 60}, "task.held_out=60: leaves 0 of 60 examples"),
        ({"task__split": "column"}, "task.client_column=None: must name a column"),
        ({"task__client_column": "region"}, "is used with task.split=column only"),
        ({"task__split": "column", "task__client_column": "region"}, "has 3 values; leave it null"),
        ({"task__clusters_by": "labels"}, "task.clusters=None: must be a number with labels"),
        ({"task__split": "dirichlet", "task__target": "score", "task__kind": "regression"},
         "task.split=dirichlet: is for classifications"),
        ({"task__target": "age"}, "task.features=age: is the target"),
        ({"task__clusters_by": "labels", "task__clusters": 3}, "task.clusters=3: 2 classes have"),
        ({"task__classes": ["yes", "yes"]}, "task.classes=.*yes.*: names a class twice"),
        ({"task__inputs": 3}, "task.inputs=3: .*mine.csv has 2 features"),
        ({"model": "linear"}, "predicts numbers; for classes use model=softmax"),
        ({"model": "cnn"}, "needs images"),
        ({"task__partitioner___target_": "a.B"}, "task.dataset goes with task.partitioner"),
        ({"task__classes": ["no", "maybe"]}, "holds the class yes, which task.classes has not"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(file, options, said):
    with pytest.raises(SettingError, match=said) as caught:
        make(file, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("21,3.5", ",3.5", "task.features=age: is empty or not finite in row 2"),
        ("21,3.5", "inf,3.5", "task.features=age: is empty or not finite in row 2"),
        ("21,3.5", "-1e31,3.5", r"task.features=age: holds -1e\+31 in row 2, too large"),
        ("yes", "no", "task.target=ill: there is only one class, no"),
        ("h1,r1,yes", "h1,r1,", "task.target=ill: is empty or not finite in row 2 and 9 more"),
        ("21,3.5", "21,3.5,9", "cannot be read as a table"),
        (HEADER, "age,age,hospital,region,ill,score", "two columns have one name"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(file, old, new, said):
    spoilt(file, old, new)
    with pytest.raises(SettingError, match=said) as caught:
        make(file)
    assert "\n" not in str(caught.value)


def test_a_client_with_too_few_rows_is_named(file):
    spoilt(file, "21,3.5,h1", "21,3.5,h9")
    said = "task.client_column=hospital: h9 has too few rows"
    with pytest.raises(SettingError, match=said):
        make(file, task__split="column", task__client_column="hospital", task__clients=None)


def test_large_numbers_are_classes_by_their_own_names(file):
    file.write_text(file.read_text().replace("yes", "1234567").replace("no", "1234568"))
    task = make(file, task__classes=[1234567, 1234568])
    assert task.preparation.classes == ("1234567", "1234568")
    assert task.preparation.names.tolist() == [1234567, 1234568]
    assert make(file).preparation.classes == ("1234567", "1234568")
    close = file.with_name("close.csv")
    close.write_text(file.read_text().replace(",123456", ",0.123456"))
    assert make(close).preparation.classes == ("0.1234567", "0.1234568")


def test_an_svmlight_file_may_lack_the_last_features(tmp_path):
    (tmp_path / "0.txt").write_text("1 1:2 3:5\n0 1:1\n" * 4)
    (tmp_path / "1.txt").write_text("1 1:7\n0 1:6\n" * 4)
    options = {"task__target": None, "task__features": None, "task__classes": [0, 1]}
    task = make(
        f"{tmp_path}/{{client}}.txt", **options, task__scaling="none", task__clients=2,
        task__inputs=3,
    )  # fmt: skip
    assert sorted(map(tuple, task.train(1).inputs.tolist()))[0] == (6, 0, 0)
    assert task.train(0).inputs.shape[1] == 3


def test_a_matrix_that_is_too_large_or_holds_what_is_too_large_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 999999999:1\n0 1:1\n" * 1000)
    (tmp_path / "b.txt").write_text("1 2:1\n0 1:1e31\n" * 5)
    with pytest.raises(SettingError, match="2000 rows of 999999999 features would take"):
        read_table(str(tmp_path / "a.txt"))
    with pytest.raises(SettingError, match="not finite, or too large, in row 2"):
        read_table(str(tmp_path / "b.txt"))


def test_gaps_in_columns_that_nobody_uses_do_not_matter(file):
    spoilt(file, "h1,r1", ",r1")
    assert make(file).clients == 6


@pytest.mark.parametrize("name", ["empty.csv", "none.csv", "x.xlsx", "junk.parquet", "junk.txt"])
def test_files_that_are_no_tables(tmp_path, name):
    if name != "none.csv":
        (tmp_path / name).write_text("" if name == "empty.csv" else "junk that is no table\n")
    with pytest.raises(SettingError, match=r"^task\.data=.*(read as a table|no such file)"):
        make(tmp_path / name)


def test_flwr_datasets_bring_data_and_partitions(file):
    pytest.importorskip("flwr_datasets")
    task = make(
        "null",
        task__dataset___target_="flwr_datasets.FederatedDataset",
        task__dataset__dataset="csv", task__dataset__data_files=str(file),
        task__partitioner___target_="flwr_datasets.partitioner.NaturalIdPartitioner",
        task__partitioner__partition_by="hospital",
        task__clients=None, task__scaling="none",
    )  # fmt: skip
    assert task.clients == 6
    for client in range(6):
        ages = np.concatenate([task.train(client).inputs, task.test(client).inputs])[:, 0]
        assert len({int(age) % 6 for age in ages}) == 1
        assert len(ages) == 10
