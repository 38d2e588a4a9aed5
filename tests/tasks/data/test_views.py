import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.tasks.data.examples import Examples
from tagma.tasks.data.views import view_of

IMAGES = Examples(np.zeros((4, 1, 3, 3), np.uint8), np.array([0, 1, 2, 0]), ("a", "b", "c"))
WIDE = Examples(np.zeros((4, 1, 3, 5), np.uint8), IMAGES.targets, IMAGES.classes)
TABLE = Examples(np.zeros((4, 7)), IMAGES.targets, IMAGES.classes)
NUMBERS = Examples(np.zeros((4, 7)), np.array([0.5, 1.0, 2.0, 3.0]))
PICTURE = np.arange(9.0).reshape(1, 1, 3, 3) / 8


def test_quarter_turns_go_counterclockwise():
    view = view_of("rotation", IMAGES, 4, 0)
    assert view(0, PICTURE, None)[0].tolist() == PICTURE.tolist()
    assert (8 * view(1, PICTURE, None)[0][0, 0]).tolist() == [[2, 5, 8], [1, 4, 7], [0, 3, 6]]
    assert (8 * view(2, PICTURE, None)[0][0, 0]).tolist() == [[8, 7, 6], [5, 4, 3], [2, 1, 0]]


def test_inverted_images():
    view = view_of("inversion", IMAGES, 2, 0)
    assert np.allclose(view(1, PICTURE, None)[0], 1 - PICTURE)
    assert view(0, PICTURE, None)[0] is PICTURE


def test_every_cluster_has_an_order_of_the_classes_of_its_own():
    view = view_of("labels", IMAGES, 6, 5)  # as many as there are
    orders = [tuple(view(k, None, np.arange(3))[1].tolist()) for k in range(6)]
    assert orders[0] == (0, 1, 2)
    assert len(set(orders)) == 6
    assert all(sorted(order) == [0, 1, 2] for order in orders)
    again = view_of("labels", IMAGES, 6, 5)
    assert [tuple(again(k, None, np.arange(3))[1].tolist()) for k in range(6)] == orders


@pytest.mark.parametrize(
    ("by", "examples", "clusters", "said"),
    [
        ("rotation", TABLE, 4, "task.clusters_by=rotation: is for images"),
        ("rotation", WIDE, 4, "needs square images for 4 clusters"),
        ("inversion", IMAGES, 3, "task.clusters=3: with inversion there are two at most"),
        ("labels", NUMBERS, 2, "task.clusters_by=labels: is for classifications"),
        ("labels", IMAGES, 7, "task.clusters=7: 3 classes have fewer orders"),
    ],
)
def test_what_cannot_be_seen_so_is_an_error_of_one_line(by, examples, clusters, said):
    with pytest.raises(SettingError, match=said):
        view_of(by, examples, clusters, 0)


def test_wide_images_can_be_turned_upside_down():
    view = view_of("rotation", WIDE, 2, 0)
    assert view(1, np.zeros((2, 1, 3, 5)), None)[0].shape == (2, 1, 3, 5)
