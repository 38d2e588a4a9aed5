import numpy as np
import pytest

from launch.assign import main, place
from launch.run import main as run
from tagma.errors import TagmaError
from tagma.settings import compose
from tasks.chosen import task_of
from tests.conftest import SMALL

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0]])


def test_the_nearest_cluster_whose_ball_holds_the_client():
    assert place(np.array([9.0, 0.0]), CENTRES, np.array([2.0, 4.0])) == (1, 0.25, True)
    assert place(np.array([0.0, 3.0]), CENTRES, np.array([2.0, 4.0])) == (0, 1.5, False)


def test_a_cluster_without_a_ball_takes_everybody():
    assert place(np.array([0.0, 99.0]), CENTRES, np.full(2, np.inf)) == (0, np.inf, True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run."""
    path = tmp_path_factory.mktemp("run") / "out"
    run([*SMALL, "preset=tagma", "attack=none", "oracle=false", f"hydra.run.dir={path}"])
    return path


def examples(path, machine=0, shift=0.0):
    data = task_of(compose(SMALL)).held_out(machine)
    np.savez(path, inputs=data.inputs, targets=data.targets + shift * data.inputs.sum(axis=1))
    return str(path)


def test_a_new_client_gets_the_model_of_its_cluster(folder, tmp_path, capsys):
    task = task_of(compose(SMALL))
    main(
        [
            str(folder),
            examples(tmp_path / "new.npz", machine=1),
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
