"""`tagma bench rules`: what is compared, and its gate; how fast it is, tests do not say."""

import numpy as np
import pytest
import torch

from tagma import rules
from tagma.bench.kernels import rules_speed
from tagma.bench.kernels.kernels_timing import Measured
from tagma.bench.kernels.rules_speed import MOST, RULES, Ratio, measure, missed
from tests.command import tagma


@pytest.mark.parametrize("name", RULES)
def test_both_of_a_pair_are_the_same_rule_on_the_same_numbers(name, monkeypatch):
    results = []

    def compare(functions, rows, repeats):
        results.append([call(rows) for call in functions.values()])
        first, second = functions
        return {first: Measured(2.0, 1.0, 1.0, repeats), second: Measured(3.0, 1.0, 1.5, repeats)}

    monkeypatch.setattr(rules_speed, "compare", compare)
    kinds = measure(name, 6, 20, repeats=1)
    assert kinds == [Ratio(name, "a tensor", 2.0, 1.5), Ratio(name, "state_dicts", 2.0, 1.5)]
    (array, tensor), (arrays, tensors) = results
    assert (type(array), type(tensor)) == (np.ndarray, torch.Tensor)
    np.testing.assert_array_equal(array, tensor)
    one = (arrays, tensors) if isinstance(arrays, dict) else (arrays[0], tensors[0])
    assert list(one[0]) == list(one[1]) == [f"layer.{i}" for i in range(8)]
    np.testing.assert_array_equal(np.concatenate([*one[0].values()]), torch.cat([*one[1].values()]))
    assert {type(value) for value in one[1].values()} == {torch.Tensor}


def test_a_missed_threshold_is_named():
    found = [Ratio("mean", "a tensor", 1.0, MOST), Ratio("median", "state_dicts", 1.0, 1.2)]
    assert missed(found) == [
        "median on state_dicts takes 1.20 times what it takes on arrays, not 1.1"
    ]


def test_the_settings_are_those_of_the_rules():
    models = np.random.default_rng(1).normal(size=(10, 9))
    for name, settings in RULES.items():
        assert getattr(rules, name)(models, **settings).shape[-1] == 9


def test_a_rule_that_is_none_is_one_line(tmp_path):
    done = tagma("bench", "rules", "meen", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no such rule here; known: mean, median" in done.stderr
