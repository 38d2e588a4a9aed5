"""What the user asked for and does not get is said, and is off."""

import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.server.screening_settings import (
    no_reply_check,
    notices_of_screening,
    without_useless_checks,
)
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tests.strategies.driving import begin


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["solver=closed_form"], None),
        (["solver=lbfgs"], None),
        (["task=mean_estimation", "solver=average"], None),
        (["solver=online"], "solver=online does not send the minimiser"),
        (["solver=sgd"], "solver=sgd does not send the minimiser"),
        (["solver=closed_form", "solver.ridge=0.1"], None),
        (["solver=closed_form", "solver.ridge=0.11"], "solver.ridge=0.11 pulls"),
        (["solver=lbfgs", "solver.ridge=1.0"], "solver.ridge=1.0 pulls"),
        (["solver=lbfgs", "solver.iterations=5"], "solver.iterations=5 may end the search"),
        (["solver=lbfgs", "solver.tolerance=0.1"], "solver.tolerance=0.1 ends the search"),
    ],
)
def test_the_reply_check_needs_a_solver_that_declares_to_find_minimisers(settings, why):
    composed = compose([*settings, "strategy.reply_check=true"])
    assert without_useless_checks(composed)["reply_check"] == (why is None)
    if why is None:
        assert no_reply_check(composed) is None
        assert notices_of_screening(composed) == []
    else:
        (notice,) = notices_of_screening(composed)
        assert notice.startswith(f"the reply check is off: {why}")
        assert notices_of_screening(compose(settings)) == []


def own(task, data):
    """A solver that declares nothing."""


def test_a_solver_of_the_users_own_is_relied_on_only_if_it_says_so():
    composed = compose(
        ["~solver.ridge", f"solver._target_={__name__}.own", "strategy.reply_check=true"]
    )
    assert "solver=own does not send" in no_reply_check(composed)


def test_readmission_without_quarantine_is_named():
    (notice,) = notices_of_screening(compose(["strategy.readmission=true"]))
    assert "strategy.readmission=true has no effect" in notice
    assert (
        notices_of_screening(compose(["strategy.readmission=true", "strategy.quarantine=true"]))
        == []
    )


@pytest.mark.parametrize(
    ("clustering", "balls"), [("kmeans", False), ("density", True), ("trimmed_kmeans", True)]
)
def test_quarantine_without_balls_is_named(clustering, balls, run_small):
    metrics = run_small(
        "attack=none", "strategy.quarantine=true", f"clustering={clustering}", "rounds=1"
    )
    named = any("strategy.quarantine=true had no effect" in text for text in metrics["warnings"])
    assert named != balls
    known = [c["error_bound"] is not None or c["stretched"] for c in metrics["clusters"]]
    assert known == [balls] * len(known)


@pytest.mark.parametrize("key", ["k", "smallest"])
def test_more_than_there_are_clients_is_refused(key):
    few = ["clustering=density", "task.clients=20", "task.clusters=2"]
    algorithm_of(compose([*few, f"clustering.{key}=20"]))
    with pytest.raises(SettingError, match=rf"^clustering.{key}=21: must not exceed task.clients"):
        algorithm_of(compose([*few, f"clustering.{key}=21"]))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("clustering.radius=aut", r"^clustering\.radius=aut: should be a valid number.*'auto'"),
        ("clustering.radius=-1", r"^clustering\.radius=-1: should be greater than 0"),
    ],
)
def test_a_setting_of_two_kinds_is_named_as_it_was_written(setting, message):
    with pytest.raises(SettingError, match=message):
        algorithm_of(compose([setting]))


@pytest.mark.parametrize("value", ["room=0", "smallest=1", "edge_room=-1", "apart=-2"])
def test_constants_have_ranges(value):
    name = value.partition("=")[0]
    key = rf"^clustering\.constants\.{name}="
    with pytest.raises(SettingError, match=key):
        algorithm_of(compose(["clustering=density", f"+clustering.constants.{value}"]))


def test_constants_can_be_set():
    strict = compose(["clustering=density", "+clustering.constants.smallest=30"])
    points = np.random.default_rng(0).normal(size=(40, 5)) + 20 * (np.arange(40) % 2)[:, None]
    state = begin(algorithm_of(strict), np.arange(40), points)
    assert state.clustering.k == 1
    assert state.clustering.stretched == (True,)
