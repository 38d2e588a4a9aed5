"""The benchmarks of sizes: slopes, what is kept of them, points, groups."""

import json

import numpy as np
import pytest

from tagma.bench.scale import scale_command
from tagma.bench.scale.edges import grouped
from tagma.bench.scale.one_run import Cost, main
from tagma.bench.scale.scale_command import REGIONS, slope
from tagma.bench.scale.stage_two import clusterings, made
from tagma.errors import TagmaError
from tagma.launch.run import check
from tagma.settings import compose


def test_the_slope_is_the_power():
    sizes = [10, 100, 1000]
    assert slope(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    assert slope([10], [1.0]) is None
    assert slope([10, 100], [0.0, 1.0]) is None


@pytest.mark.parametrize("name", REGIONS)
def test_the_smallest_run_of_every_region_is_one_that_can_be_made(name):
    check(compose([*REGIONS[name].overrides(REGIONS[name].sizes[0]), "oracle=false"]))


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch, capsys):
    asked = []

    def cost(overrides, timeout):
        asked.append(overrides)
        if "task.clients=1000" in overrides:
            raise TagmaError("too large")
        return Cost(1.0, 0.1, 2.0, 10**8, 2 * 10**8, 5, 0.0)

    monkeypatch.setattr(scale_command, "cost_of", cost)
    given = ["clients", "--most", "1000", "--folder", str(tmp_path)]
    scale_command.main(given)
    assert len(asked) == 2
    scale_command.main(given)  # one was measured, the other failed
    assert len(asked) == 3
    assert (tmp_path / "scale.png").exists()
    assert "100" in capsys.readouterr().out


def test_a_region_that_is_not_there_is_an_error():
    with pytest.raises(TagmaError, match="planets: there is no such region"):
        scale_command.main(["planets"])


def test_one_run_says_what_it_took(capsys):
    main(["engine=vectorised", "task.clients=10", "task.clusters=2", "task.dim=4", "rounds=3"])
    cost = Cost(**json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert cost.clusters == 2
    assert cost.first > 0
    assert cost.whole >= cost.first + cost.later
    assert cost.peak >= cost.before > 0


def test_every_clustering_of_stage_two_finds_far_groups():
    points, groups, byzantine = made(120, 3, 20)
    assert byzantine.sum() > 0
    for name, cluster in clusterings(3).items():
        labels, _ = cluster(points)
        for group in range(3):
            own = labels[(groups == group) & ~byzantine]
            assert (own == np.bincount(own + 1).argmax() - 1).mean() > 0.8, name


@pytest.mark.parametrize("together", [False, True])
def test_groups_hold_everybody_once(together):
    rows = np.arange(20.0)[:, None]
    forged = np.arange(20) < 6
    groups = grouped(rows, forged, 5, together, seed=0)
    assert sorted(np.concatenate(groups)[:, 0]) == list(range(20))
    spoiled = sum(bool((group < 6).any()) for group in groups)
    assert spoiled == 2 if together else spoiled > 2
