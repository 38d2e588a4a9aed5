"""Scores of what clients are served, by hand: two true clusters, at (0, 0) and (6, 8)."""

import numpy as np
import pytest

from tagma.exchange import CHOICE
from tagma.server.results.score_choice import scores_of
from tagma.server.results.scores import EstimationError, Seen, ServedError
from tagma.settings import compose
from tagma.tasks.task import Truth
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL

FIRST, SECOND = (0.0, 0.0), (6.0, 8.0)
ROOT = np.sqrt(2)
INITIAL = np.array([0.0, 4.0])


def served(
    models, which, *, clients=(0, 1, 2, 3), true=(0, 0, 1, 1), byzantine=(False,) * 4, chose=None
):
    told = {client: {CHOICE: row} for client, row in (chose or {}).items()}
    seen = Seen(
        np.array(clients), np.array(models), np.array(which),
        Truth(labels=np.array(true), centres=np.array([FIRST, SECOND])), np.array(byzantine), told,
    )  # fmt: skip
    return ServedError(INITIAL)(seen), EstimationError()(seen)


def test_whoever_is_served_its_own_centre_has_no_error():
    assert served([SECOND, FIRST], [1, 1, 0, 0]) == (0.0, 0.0)


def test_who_uses_a_right_model_has_no_error_in_a_wrong_cluster():
    wrong = [0, 1, 1, 1]
    assert served([FIRST, SECOND], wrong)[0] > 0
    assert served([FIRST, SECOND], wrong, chose={0: 0.0, 1: 0.0, 2: 1.0, 3: 1.0})[0] == 0


@pytest.mark.parametrize("said", [0.5, -1.0, 2.0, 1e150])
def test_a_model_that_is_none_is_not_used(said):
    right = [0, 0, 1, 1]
    assert served([FIRST, SECOND], right, chose={0: said})[0] == 0


def test_a_perfect_model_that_goes_to_the_wrong_clients_is_a_served_error():
    # Clients 2 and 3 are 10 away from what they get; for 3 alone it is a mean of 5.
    assert served([FIRST, SECOND], [0, 0, 0, 0]) == (pytest.approx(10 / ROOT), 0.0)
    assert served([FIRST, SECOND], [0, 0, 1, 0])[0] == pytest.approx(5 / ROOT)


def test_it_is_the_worst_true_cluster_that_counts():
    # Means of 1 and of 2.
    assert served([(1.0, 0.0), (6.0, 10.0)], [0, 0, 1, 1])[0] == pytest.approx(2 / ROOT)


def test_what_byzantine_clients_are_served_does_not_count():
    assert served([FIRST, SECOND], [0, 1, 1, 1], byzantine=[False, True, False, False])[0] == 0


def test_a_client_without_a_model_and_one_that_never_came_have_the_initial_one():
    # From the first centre it is 4 away, so that the mean of that cluster is 2.
    assert served([FIRST, SECOND], [-1, 0, 1, 1])[0] == pytest.approx(2 / ROOT)
    assert served([FIRST, SECOND], [0, 1, 1], clients=[1, 2, 3])[0] == pytest.approx(2 / ROOT)


def test_who_belongs_to_no_group_and_who_nobody_knows_do_not_count():
    assert served([FIRST, SECOND], [0, 0, 1, 0], true=[0, 0, 1, -1])[0] == 0
    assert served([FIRST, SECOND], [0, 0, 1, 1, 0], clients=[0, 1, 2, 3, 9])[0] == 0


@pytest.mark.parametrize("far", [np.inf, np.nan, 1e200])
@pytest.mark.parametrize("lost", [0, 1])
def test_models_that_have_diverged_have_no_error_as_served(far, lost):
    models = np.array([FIRST, SECOND])
    models[lost] = far
    assert served(models, [0, 0, 1, 1])[0] is None


def test_the_estimation_error_stays_the_first_score():
    task = task_of(compose(SMALL))
    assert [score.name for score in scores_of(task)] == ["estimation_error", "served_error", "loss"]


def test_metrics_and_history_have_it(run_small, tmp_path):
    metrics = run_small("attack=none", "strategy=fedavg", "aggregation=mean")
    curve = metrics["served_error_per_round"]
    assert len(curve) == 4
    assert metrics["served_error"] == curve[-1] == metrics["scores"]["served_error"]["value"]
    header, *rows = (tmp_path / "history.csv").read_text().splitlines()
    place = header.split(",").index("served_error")
    assert [float(row.split(",")[place]) for row in rows] == curve
    # One model for all: the worst cluster's error, and nobody is better off than by the best match.
    assert curve == pytest.approx(metrics["estimation_error_per_round"])


def test_where_nobody_knows_the_true_models_there_is_none():
    task = task_of(compose(["task=rotated_digits", "task.clients=4"]))
    assert [score.name for score in scores_of(task) if score.of is None] == ["accuracy", "loss"]
