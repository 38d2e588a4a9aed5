import shutil

import numpy as np
import pytest

from tagma.choices import CONF
from tagma.errors import TagmaError
from tagma.launch.assign import main
from tagma.launch.cli import main as tagma
from tagma.launch.run import main as run
from tagma.settings import compose
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run."""
    path = tmp_path_factory.mktemp("run") / "out"
    run([*SMALL, "preset=tagma", "attack=none", "oracle=false", f"hydra.run.dir={path}"])
    return path


def examples(path, client=0, shift=0.0):
    data = task_of(compose(SMALL)).test(client)
    np.savez(path, inputs=data.inputs, targets=data.targets + shift * data.inputs.sum(axis=1))
    return str(path)


def test_a_new_client_gets_the_model_of_its_cluster(folder, tmp_path, capsys):
    task = task_of(compose(SMALL))
    main(
        [
            str(folder),
            examples(tmp_path / "new.npz", client=1),
            "--model",
            str(tmp_path / "model.npy"),
        ]
    )
    assert "cluster: " in capsys.readouterr().out
    true = task.truth().centres[task.truth().labels[1]]
    assert np.allclose(np.load(tmp_path / "model.npy"), true, atol=0.1)


def test_a_client_that_fits_none_is_told_so(folder, tmp_path, capsys):
    main([str(folder), examples(tmp_path / "new.npz", shift=50.0)])
    assert capsys.readouterr().out.startswith("cluster: none")


def test_mistakes_are_one_line(folder, tmp_path):
    with pytest.raises(TagmaError, match="not the folder of a finished"):
        main([str(tmp_path), "x.npz"])
    with pytest.raises(TagmaError, match="cannot be read"):
        main([str(folder), str(tmp_path / "nothing.npz")])
    np.savez(tmp_path / "bad.npz", inputs=np.ones((3, 2)), targets=np.ones(3))
    with pytest.raises(TagmaError, match="2 columns"):
        main([str(folder), str(tmp_path / "bad.npz")])


INPUTS, TARGETS = np.ones((3, 5)), np.ones(3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"inputs": INPUTS}, "has no targets"),
        ({"targets": TARGETS}, "cannot be read"),
        ({"inputs": INPUTS[:0], "targets": TARGETS[:0]}, "has no examples"),
        ({"inputs": INPUTS + 0j, "targets": TARGETS}, "inputs must be real numbers"),
        ({"inputs": INPUTS, "targets": TARGETS + 1j}, "targets must be real numbers"),
        ({"inputs": INPUTS, "targets": np.array(["a", "b", "c"])}, "targets must be real"),
        ({"inputs": INPUTS, "targets": TARGETS * np.nan}, "targets holds numbers that are not"),
        ({"inputs": INPUTS / 0.0 * 0, "targets": TARGETS}, "inputs holds numbers that are not"),
        ({"inputs": INPUTS, "targets": TARGETS[:2]}, "n rows and targets n numbers"),
        ({"inputs": INPUTS[0], "targets": TARGETS}, "n rows and targets n numbers"),
        ({"inputs": np.float64(1), "targets": TARGETS}, "n rows and targets n numbers"),
        ({"inputs": np.array([{}], dtype=object), "targets": TARGETS}, "cannot be read"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_examples_that_cannot_be_used_are_refused(folder, tmp_path, content, says):
    np.savez(tmp_path / "new.npz", **content)
    with pytest.raises(TagmaError, match=says) as error:
        main([str(folder), str(tmp_path / "new.npz")])
    assert "\n" not in str(error.value)


def test_files_that_are_no_archives_are_refused(folder, tmp_path):
    examples(tmp_path / "new.npz")
    half = tmp_path / "half.npz"
    half.write_bytes((tmp_path / "new.npz").read_bytes()[:200])
    with pytest.raises(TagmaError, match="cannot be read"):
        main([str(folder), str(half)])
    np.save(tmp_path / "plain.npy", INPUTS)
    with pytest.raises(TagmaError, match="is a single array"):
        main([str(folder), str(tmp_path / "plain.npy")])
    empty = tmp_path / "empty.npz"
    empty.touch()
    with pytest.raises(TagmaError, match="cannot be read"):
        main([str(folder), str(empty)])


def test_a_model_that_cannot_be_written_is_one_line(folder, tmp_path):
    new = examples(tmp_path / "new.npz", client=1)
    with pytest.raises(TagmaError, match="cannot be written"):
        main([str(folder), new, "--model", str(tmp_path / "no" / "such" / "model.npy")])


def test_own_choices_of_the_run_are_found_again(tmp_path, capsys):
    (tmp_path / "own/solver").mkdir(parents=True)
    text = (CONF / "solver/closed_form.yaml").read_text()
    (tmp_path / "own/solver/mine.yaml").write_text(text)
    out, place = tmp_path / "out", f"hydra.searchpath=[file://{tmp_path}/own]"
    run([*SMALL, place, "solver=mine", "attack=none", "oracle=false", f"hydra.run.dir={out}"])
    main([str(out), examples(tmp_path / "new.npz"), "--trust"])
    assert "cluster: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".hydra/hydra.yaml", "hydra: {overrides: [1]}"),
        (".hydra/hydra.yaml", "hydra: ["),
        (".hydra/hydra.yaml", "3"),
        ("models.safetensors", "x"),
        ("metrics.json", "{"),
        ("metrics.json", '{"clusters": [3]}'),
    ],
)
def test_a_damaged_run_folder_is_one_line(folder, file, content, tmp_path):
    shutil.copytree(folder, tmp_path / "run")
    (tmp_path / "run" / file).write_text(content)
    with pytest.raises(TagmaError, match=r"cannot be read|is damaged") as error:
        main([str(tmp_path / "run"), examples(tmp_path / "new.npz")])
    assert "\n" not in str(error.value)


def test_a_mistake_ends_with_code_2_and_one_line(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tagma", "assign", str(folder), "nothing.npz"])
    with pytest.raises(SystemExit) as ended:
        tagma()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("tagma: error: nothing.npz")
