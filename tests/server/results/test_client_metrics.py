"""What clients measure, summed up by hand: 20 clients of two true clusters, two of them Byzantine.

Honest client c of 0, ..., 17 has accuracy c / 20; clients 18 and 19 claim 1.
"""

import numpy as np
import pytest

from tagma.server.results.client_metrics import (
    ClientMetric,
    client_scores,
    summary_of_metrics,
    within_range,
)
from tagma.server.results.scores import Seen
from tagma.tasks.task import Truth

TOLD = {c: {"accuracy": c / 20, "loss": 1.0} for c in range(18)} | {
    18: {"accuracy": 1.0, "loss": 99.0},
    19: {"accuracy": 1.0, "loss": 99.0},
}


class Measured:
    """A task of which only its metrics matter."""

    def __init__(self, truth=None, **metrics):
        self.metrics = metrics or {"accuracy": "high", "loss": "low"}
        self._truth = truth

    def truth(self):
        return self._truth


TRUTH = Truth(labels=np.array([0] * 5 + [1] * 15))


def seen(told=TOLD, truth=TRUTH, byzantine=(18, 19)):
    clients = np.arange(20)
    liars = None if byzantine is None else np.isin(clients, byzantine)
    models, which = np.zeros((1, 2)), np.zeros(20, dtype=np.int64)
    return Seen(clients, models, which, truth, liars, told)


def values_of(task, looked_at):
    return {score.name: score(looked_at) for score in client_scores(task)}


def test_mean_worst_and_best_tenth_and_worst_cluster_of_the_honest_clients():
    assert values_of(Measured(TRUTH), seen()) == {
        "accuracy": pytest.approx(8.5 / 20),
        "loss": 1.0,
        "accuracy_worst_decile": pytest.approx(0.5 / 20),  # clients 0 and 1
        "accuracy_best_decile": pytest.approx(16.5 / 20),  # clients 16 and 17
        "accuracy_worst_cluster": pytest.approx(2 / 20),  # clients 0 to 4
    }


def test_of_a_metric_where_less_is_better_the_worst_are_the_largest():
    found = values_of(Measured(TRUTH, accuracy="low"), seen())
    assert found["accuracy_worst_decile"] == pytest.approx(16.5 / 20)
    assert found["accuracy_best_decile"] == pytest.approx(0.5 / 20)
    assert found["accuracy_worst_cluster"] == pytest.approx(11 / 20)  # clients 5 to 17


def test_who_belongs_to_no_true_cluster_counts_but_is_no_cluster():
    truth = Truth(labels=np.array([-1] * 5 + [1] * 15))
    found = values_of(Measured(truth), seen(truth=truth))
    assert found["accuracy_worst_cluster"] == pytest.approx(11 / 20)
    assert found["accuracy"] == pytest.approx(8.5 / 20)


def test_where_nobody_knows_who_is_honest_it_is_the_median_and_nobody_is_worst():
    unknown = seen(truth=None, byzantine=None)
    assert values_of(Measured(), unknown) == {"accuracy": pytest.approx(9.5 / 20), "loss": 1.0}
    scores = list(client_scores(Measured()))
    curves = {"accuracy": [None, 9.5 / 20], "loss": [None, 1.0]}
    assert summary_of_metrics(unknown, scores, curves) == {
        "accuracy": {
            "mean": None,
            "worst_decile": None,
            "best_decile": None,
            "worst_cluster": None,
            "median": pytest.approx(9.5 / 20),
            "middle_half": [4 / 20, 14 / 20],
            "clients": 20,
            "per_round": [None, 9.5 / 20],
        }
    }


def test_a_summary_has_every_part_at_the_end_and_per_round():
    scores = list(client_scores(Measured(TRUTH)))
    curves = {score.name: [None, score(seen())] for score in scores}
    found = summary_of_metrics(seen(), scores, curves)["accuracy"]
    assert found["mean"] == found["per_round"][-1] == pytest.approx(8.5 / 20)
    assert found["worst_decile"] == pytest.approx(0.5 / 20)
    assert found["worst_decile_per_round"] == [None, found["worst_decile"]]
    assert found["worst_cluster"] == found["worst_cluster_per_round"][1] == pytest.approx(2 / 20)
    assert found["clients"] == 18


def test_nobody_measured_anything():
    nobody = seen(told={})
    assert set(values_of(Measured(TRUTH), nobody).values()) == {None}
    scores = list(client_scores(Measured(TRUTH)))
    curves = {score.name: [None] for score in scores}
    found = summary_of_metrics(nobody, scores, curves)["accuracy"]
    assert found["clients"] == 0
    assert found["mean"] is found["median"] is found["middle_half"] is None


def test_values_that_a_metric_cannot_have_are_dropped_and_counted():
    scores = list(client_scores(Measured(TRUTH)))
    told = {0: {"accuracy": 7.0, "loss": -3.0}, 1: {"loss": 1.0}, 2: {"accuracy": 1.0, "loss": 2.0}}
    found, dropped = within_range(told, scores)
    assert found == {0: {"loss": -3.0}, 1: {"loss": 1.0}, 2: {"accuracy": 1.0, "loss": 2.0}}
    assert dropped == {"accuracy": 2}  # 7, and one that was no number


def test_what_no_score_looks_at_stays_as_it_is():
    found, dropped = within_range({0: {"num-examples": 40.0}}, [])
    assert found == {0: {"num-examples": 40.0}}
    assert not dropped


def test_a_task_says_the_range_of_a_metric_of_its_own():
    task = Measured(grade="low")
    task.ranges = {"grade": (1.0, 6.0)}
    (whole,) = client_scores(task)
    assert isinstance(whole, ClientMetric)
    found, dropped = within_range({0: {"grade": 0.5}, 1: {"grade": 6.0}}, [whole])
    assert found == {0: {}, 1: {"grade": 6.0}}
    assert dropped == {"grade": 1}


def test_after_steps_of_its_own_every_metric_is_there_again():
    names = [score.name for score in client_scores(Measured(TRUTH), personalised=True)]
    assert names == [
        "accuracy", "loss", "personalised_accuracy", "personalised_loss",
        "accuracy_worst_decile", "accuracy_best_decile", "accuracy_worst_cluster",
        "personalised_accuracy_worst_decile", "personalised_accuracy_best_decile",
        "personalised_accuracy_worst_cluster",
    ]  # fmt: skip
