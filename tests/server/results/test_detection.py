"""Which share of the Byzantine and of the honest clients is held out: by hand, of nine clients."""

import json
from csv import DictReader
from dataclasses import asdict

import numpy as np
import pytest

from tagma.plain_state import put_together
from tagma.server.results.detection import detection
from tagma.server.results.recorder import Recorder, RoundRecord
from tagma.server.results.scores import Seen
from tagma.strategies.round_outcome import Round
from tagma.tasks.task import Truth
from tests.server.results.test_cluster_verdicts import state

TRUTH = Truth(labels=np.zeros(9, dtype=int), centres=None)


def found(byzantine, *, screens=True, **held):
    after = state(**held)
    mask = None if byzantine is None else np.isin(np.arange(9), byzantine)
    seen = Seen(after.clients, after.models, after.labels, TRUTH, mask, {})
    return detection(after, seen, screens=screens)


def test_quarantined_and_excluded_clients_are_held_out():
    # Clients 0 and 4 are held out; of the Byzantine ones that is 0, of the six honest ones 4.
    shares = found([0, 1, 2], trimmed=[4], strikes=[0])
    assert shares == {
        "true_positive": pytest.approx(1 / 3), "false_positive": pytest.approx(1 / 6)
    }  # fmt: skip


def test_who_is_held_out_for_two_reasons_counts_once():
    assert found([0], trimmed=[0], strikes=[0]) == {"true_positive": 1.0, "false_positive": 0.0}


def test_of_nobody_there_is_no_share():
    assert found([], trimmed=[8]) == {"true_positive": None, "false_positive": pytest.approx(1 / 9)}


def test_a_screening_that_finds_nobody_detects_nobody():
    assert found([0]) == {"true_positive": 0.0, "false_positive": 0.0}


def test_without_screening_or_knowledge_there_is_no_detection():
    assert found([0], screens=False) is None
    assert found(None, trimmed=[4]) is None


@pytest.mark.parametrize("strategy", ["fedavg", "local", "oracle", "three_stage"])
def test_algorithms_that_hold_nobody_out_have_none(strategy, run_small):
    metrics = run_small(f"strategy={strategy}", "evaluate=false")
    assert metrics["detection"] is None
    assert metrics["attack_success"] is None


def test_it_agrees_with_the_screening_of_a_run(run_small, tmp_path):
    metrics = run_small("preset=tagma", "attack=random_model", "evaluate=false")
    held = {*metrics["screening"]["quarantined"], *metrics["screening"]["excluded"]}
    rows = [row.split(",") for row in (tmp_path / "clusters.csv").read_text().splitlines()[1:]]
    byzantine = {int(row[0]) for row in rows if row[3] == "1"}
    assert held
    shares = {name: metrics["detection"][name] for name in ("true_positive", "false_positive")}
    assert shares == {
        "true_positive": pytest.approx(len(held & byzantine) / len(byzantine)),
        "false_positive": pytest.approx(len(held - byzantine) / (20 - len(byzantine))),
    }


def test_a_rule_that_selects_is_judged_by_whom_it_leaves_out_in_every_round(run_small, tmp_path):
    metrics = run_small("strategy=fedavg", "aggregation=multi_krum", "aggregation.fraction=0.1",
                        "attack=random_model", "attack.fraction=0.1", "attack.deviation=1000",
                        "rounds=3", "evaluate=false")  # fmt: skip
    found = metrics["detection"]
    assert found["true_positive_per_round"] == [1.0] * 4
    assert found["false_positive_per_round"] == [0.0] * 4
    assert (found["true_positive"], found["false_positive"]) == (1.0, 0.0)
    with (tmp_path / "history.csv").open(newline="") as file:
        rounds = list(DictReader(file))
    assert [(row["true_positive"], row["false_positive"]) for row in rounds] == [("1.0", "0.0")] * 4


def test_where_clients_are_held_out_there_is_a_share_for_every_round(run_small):
    metrics = run_small("preset=tagma", "attack=random_model", "evaluate=false", "rounds=3")
    found = metrics["detection"]
    assert len(found["true_positive_per_round"]) == len(found["false_positive_per_round"]) == 4
    assert found["true_positive_per_round"][-1] == found["true_positive"] == 1.0


def test_the_curve_is_the_same_after_a_resume():
    before = Recorder(1, TRUTH, np.arange(9) < 2, [], [])
    before.observe_round(
        Round(
            1, clients=np.arange(9), models=np.zeros((1, 1)), which=np.zeros(9, dtype=int),
            answered=np.array([0, 1, 2, 3]), left_out=np.array([True, False, True, False]),
            judged=True,
        )
    )  # fmt: skip
    assert before.left_out == [(0.5, 0.5)]
    after = Recorder(1, TRUTH, np.arange(9) < 2, [], [])
    after.restore([put_together(RoundRecord, json.loads(json.dumps(asdict(before.latest))), {})])
    assert (after.left_out, after.judged) == (before.left_out, True)
