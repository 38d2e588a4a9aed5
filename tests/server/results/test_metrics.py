"""What metrics.json says beside the scores: what was run, advice, and no bound to rely on."""

import numpy as np
import pytest

from tagma.server.results.cluster_verdicts import verdicts
from tagma.server.results.named_settings import named_settings
from tagma.settings import compose
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.standing import Screening


def bounds(local_models, suspicions):
    labels = np.repeat([0, 1], len(local_models) // 2)
    clustering = Clustering(
        labels, np.zeros((2, local_models.shape[1])), np.zeros(len(labels), dtype=bool),
        np.ones(2), labels[None], 0, "given",
    )  # fmt: skip
    state = Clustered.after(np.arange(len(labels)), local_models, clustering, Screening())
    return [row["error_bound"] for row in verdicts(state, suspicions)]


def test_a_suspect_cluster_has_no_bound():
    first, second = bounds(np.random.default_rng(0).normal(size=(8, 3)), ["alike", None])
    assert first is None
    assert second > 0


def test_clients_that_are_copies_of_each_other_have_no_bound():
    noisy = np.random.default_rng(0).normal(size=(4, 3))
    first, second = bounds(np.vstack([np.ones((4, 3)), noisy]), [None, None])
    assert first is None
    assert second > 0


@pytest.mark.parametrize(
    ("overrides", "advice"),
    [
        ([], "try more clustering.restarts or clustering.extra_clusters=1"),
        (["clustering.init=random"], "try clustering.init=restarts or clustering.extra_clusters=1"),
        (["clustering.init=partial"], "try clustering.init=restarts"),
        (["clustering.extra_clusters=1"], None),
    ],
)
def test_no_setting_is_recommended_that_is_set(run_small, overrides, advice):
    # A ball that holds nobody: every client is trimmed.
    metrics = run_small("clustering.radius=1e-9", "evaluate=false", *overrides)
    warnings = [text for text in metrics["warnings"] if "within its ball" in text]
    assert warnings
    for text in warnings:
        assert text.endswith("may be Byzantine" + (f"; {advice}" if advice else ""))


@pytest.mark.parametrize(
    ("overrides", "name", "value"),
    [
        ([], "task", "mixture_regression"),
        ([], "attack", "poisoned_regression"),
        (["attack=alie"], "attack", "alie"),
        (["attack=mixed"], "attack", "sign_flip and alie and poisoned_regression"),
        (["attack=sleeper"], "attack", "ipm from round 6"),
        (["attack=ipm", "attack.stop=3"], "attack", "ipm until round 3"),
        (["attack=fake_cluster", "+attack.later=ipm"], "attack", "fake_cluster, then ipm"),
        (["task._target_=mine.OwnData"], "task", "OwnData"),
        (["aggregation=multi_krum"], "aggregation", "multi_krum"),
        (["aggregation=mean", "+aggregation.pre=[nnm,{arc:{fraction:.1}}]"], "pre", ["nnm", "arc"]),
        (["optimiser=local"], "optimiser", "local"),
        (["preset=tagma"], "clustering", "density"),
        (["preset=tagma"], "reply_check", True),
        (["preset=paper"], "reply_check", False),
    ],
)
def test_settings_are_named_as_on_the_command_line(overrides, name, value):
    assert named_settings(compose(overrides))[name] == value


@pytest.mark.parametrize(
    ("chosen", "name"), [("crowded", "crowded"), ("median", "median"), ("mean", "mean")]
)
def test_own_choices_are_named_as_on_the_command_line(tmp_path, chosen, name):
    ours = "_target_: tagma.strategies.aggregation.median.median\n"
    files = {"crowded": ours, "another": "_target_: mine.rule\n", "broken": "a: [", "list": "[1]"}
    (tmp_path / "aggregation").mkdir()
    for stem, content in files.items():
        (tmp_path / f"aggregation/{stem}.yaml").write_text(content)
    place = f"hydra.searchpath=[file://{tmp_path}]"
    assert named_settings(compose([place, f"aggregation={chosen}"]))["aggregation"] == name
    own = [place, "aggregation=mean", "aggregation._target_=mine.rule"]
    assert named_settings(compose(own))["aggregation"] == "another"
