"""What does not fit into memory is refused by a line that names the limit."""

from types import SimpleNamespace

import pytest

from tagma.errors import TagmaError
from tagma.memory import check_memory
from tagma.server.wiring import algorithm_of
from tagma.settings import compose


def test_what_fits_is_not_refused():
    check_memory(1000, "this", "take that")


def test_what_does_not_fit_is_one_line_with_both_numbers():
    with pytest.raises(TagmaError, match=r"this takes 1,000,000 GB .* are free; take that$"):
        check_memory(10**15, "this", "take that")


@pytest.mark.parametrize("clustering", ["edge_cutting", "trimmed_kmeans", "kmeans", "kmedians"])
def test_clusterings_that_do_not_scale_are_refused_before_anything_is_computed(
    clustering, monkeypatch
):
    monkeypatch.setattr(
        "tagma.memory.psutil.virtual_memory", lambda: SimpleNamespace(available=1e9)
    )
    settings = compose([f"clustering={clustering}", "task.clients=100000"])
    with pytest.raises(TagmaError, match=r"100,000 clients.* GB of memory.*clustering=density"):
        algorithm_of(settings)


def test_density_takes_as_many(monkeypatch):
    monkeypatch.setattr("tagma.memory.psutil.virtual_memory", lambda: SimpleNamespace(available=0))
    algorithm_of(compose(["preset=tagma", "task.clients=100000"]))
