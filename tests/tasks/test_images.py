import json

import numpy as np
import pytest
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

from tagma.attacks.local.label_flip import LabelFlip
from tagma.client.solvers.solver_choice import solver_of
from tagma.errors import SettingError
from tagma.settings import compose
from tagma.tasks.data.views import turned
from tagma.tasks.images import Images
from tagma.tasks.stack import Stack
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of


def make(**options):
    return task_of(compose(digits(**options)))


def digits(**options):
    """Settings; those of the model have its name before them."""
    chosen = {"clients": 12, "seed": 0} | options
    keys = {"seed": "seed", "hidden": "model.hidden"}
    return ["task=rotated_digits"] + [
        f"{keys.get(name, f'task.{name}')}={json.dumps(value)}" for name, value in chosen.items()
    ]


def turned_digits(degrees):
    """All images, turned, as vectors, and the digits."""
    found = load_digits()
    images = (found.images / 16).astype(np.float32)[:, None]
    return turned(images, degrees).reshape(-1, 64), found.target


def test_quarter_turns_are_exact():
    images = load_digits().images / 16
    for turn in range(4):
        pixels, digits = turned_digits(90.0 * turn)
        assert np.array_equal(pixels.reshape(-1, 8, 8)[5], np.rot90(images[5], turn))
        assert np.array_equal(digits, load_digits().target)
        assert pixels.dtype == np.float32


def test_other_turns_go_the_same_way_and_stay_intensities():
    plain = turned_digits(0.0)[0].reshape(-1, 8, 8)
    quarter = rotate(plain, 90, axes=(2, 1), reshape=False, order=1).reshape(-1, 64)
    assert np.allclose(quarter, turned_digits(90.0)[0], atol=1e-6)
    near, far = turned_digits(88.0)[0], turned_digits(45.0)[0]
    assert np.abs(near - quarter).mean() < 0.5 * np.abs(far - quarter).mean()
    assert far.min() >= 0
    assert far.max() <= 1


def test_a_client_sees_its_images_as_its_cluster_does_and_tests_on_all_that_are_held_out():
    task = make()
    labels = task.truth().labels
    assert task.truth().centres is None
    assert task.truth().k == 4
    assert np.bincount(labels).tolist() == [3, 3, 3, 3]
    pixels = [turned_digits(90.0 * turn)[0] for turn in range(4)]
    held_out = set()
    for client in range(12):
        train, test = task.train(client), task.test(client)
        assert (train.inputs.shape, test.inputs.shape) == ((40, 64), (197, 64))
        upright = [
            [int(np.flatnonzero((pixels[labels[client]] == row).all(axis=1))[0]) for row in part]
            for part in (train.inputs, test.inputs)
        ]
        assert len(set(upright[0])) == 40
        assert not set(upright[0]) & set(upright[1])
        held_out.add(tuple(upright[1]))
    assert len(held_out) == 1


def test_clients_draw_on_their_own():
    task = make()
    first, again = task.train(3), make().train(3)
    assert np.array_equal(first.inputs, again.inputs)
    assert not np.array_equal(first.targets, task.train(4).targets)
    assert not np.array_equal(first.targets, make(seed=1).train(3).targets)


def test_clients_of_a_cluster_share_one_test_set_that_nobody_can_change():
    task = make()
    labels = task.truth().labels
    first, second = np.flatnonzero(labels == labels[0])[:2]
    other = np.flatnonzero(labels != labels[0])[0]
    assert task.test(first) is task.test(second)
    assert task.test(first) is not task.test(other)
    with pytest.raises(ValueError, match="read-only"):
        task.test(first).inputs[0] = 0


def test_without_hidden_layers_it_is_a_linear_model():
    task = make(hidden=[])
    assert layout_of(task).size == 64 * 10 + 10
    data = [task.train(client) for client in range(3)]
    models = np.stack([layout_of(task).vector(task.initial())] * 3)
    gradients = task.gradients(models, Stack.of(data, np.float32))
    for gradient, each in zip(gradients, data, strict=True):
        assert np.allclose(gradient, task.gradient(models[0], each), rtol=1e-5, atol=1e-7)


def test_clients_may_have_unequal_numbers_of_images():
    task = make(samples=[10, 12], clients=60)
    counts = [len(task.train(client)) for client in range(60)]
    assert set(counts) == {10, 11, 12}
    assert counts == [len(make(samples=[10, 12], clients=60).train(c)) for c in range(60)]


@pytest.mark.parametrize(
    "options",
    [{"samples": 1601}, {"samples": [20, 10]}, {"samples": [1, 1700]}, {"samples": 0},
     {"clusters": 13}, {"hidden": [0]}, {"held_out": 1797}, {"held_out": 0}, {"alpha": 0},
     {"clusters_by": "colour"}, {"clients": None}, {"classes": ["0"]}],
)  # fmt: skip
def test_impossible_settings_are_one_clear_line(options):
    with pytest.raises(SettingError, match=r"^(task|model)\.") as caught:
        make(**options)
    assert "\n" not in str(caught.value)


def test_labels_are_flipped_to_nine_minus_themselves():
    task = make()
    flipped = LabelFlip().data(task, 3, np.random.default_rng(0))
    assert np.array_equal(flipped.targets, 9 - task.train(3).targets)
    assert np.array_equal(flipped.inputs, task.train(3).inputs)


def test_a_model_is_of_single_precision_and_has_no_buffers():
    layout = layout_of(make(hidden=[32, 16]))
    assert layout.dtype == np.float32
    assert layout.size == 64 * 32 + 32 + 32 * 16 + 16 + 16 * 10 + 10
    assert not layout.buffers


def test_the_task_brings_a_solver_that_learns():
    settings = compose(["task=rotated_digits", "seed=3"])
    task = task_of(settings)
    assert isinstance(task, Images)
    start = layout_of(task).vector(task.initial())
    assert task.evaluate(start, task.test(7))["accuracy"] < 0.2
    solution = solver_of(settings)(task, task.train(7))
    assert solution.model.dtype == np.float32
    assert solution.iterations == 15 * 4
    assert task.evaluate(solution.model, task.test(7))["accuracy"] > 0.4


def test_the_server_may_have_images_that_are_upright_and_not_held_out():
    assert make().server_data() is None
    task = make(server_samples=30)
    data = task.server_data()
    upright, digits = turned_digits(0.0)
    images = [int(np.flatnonzero((upright == row).all(axis=1))[0]) for row in data.inputs]
    assert len(set(images)) == 30
    assert np.array_equal(digits[images], data.targets)
    held_out = task.test(int(np.flatnonzero(task.truth().labels == 0)[0])).inputs
    assert not {row.tobytes() for row in data.inputs} & {row.tobytes() for row in held_out}
    assert np.array_equal(make().train(3).inputs, task.train(3).inputs)
    with pytest.raises(SettingError, match=r"task\.server_samples=1601: must be up to 1600"):
        make(server_samples=1601)
