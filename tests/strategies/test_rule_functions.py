"""The rules as functions of what people have: the same kind comes out, with the same numbers."""

import subprocess
import sys
from collections import OrderedDict
from functools import partial

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord

from tagma import rules
from tagma.choices import choices
from tagma.errors import TagmaError
from tagma.strategies.model_rows import model_rows
from tests.strategies.aggregation.aggregators import ALL, PRE, UPDATES

M, SHAPE, D = 12, (3, 2), 8
ROWS = np.random.default_rng(5).normal(size=(M, D)).astype(np.float32) + 3


def own(name):
    """The public function, with the settings that the tests of the rule use."""
    return partial(getattr(rules, name), **getattr((ALL | PRE)[name], "keywords", {}))


def states(rows=ROWS, dtype=torch.float32, steps=7):
    """State_dicts of a weight, a bias and a counter; their parameters are the rows."""
    return [
        OrderedDict(
            weight=torch.tensor(row[:6], dtype=dtype).reshape(SHAPE),
            count=torch.tensor(steps + number),
            bias=torch.tensor(row[6:], dtype=dtype),
        )
        for number, row in enumerate(rows)
    ]


def vector(state):
    return np.concatenate([state["weight"].float().ravel(), state["bias"].float()])


def test_every_choice_of_a_run_is_a_function():
    assert set(rules.__all__) == {*choices("aggregation"), *PRE}
    assert {*ALL, *UPDATES, *PRE} == set(rules.__all__)


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_goes_in_comes_out(name):
    rule, expected = own(name), ALL[name](ROWS).estimate
    for dtype, bound in (
        (torch.float64, 1e-5), (torch.float32, 1e-5), (torch.float16, 0.01), (torch.bfloat16, 0.05),
    ):  # fmt: skip
        tensor = torch.tensor(ROWS, dtype=dtype)
        found = rule(tensor.reshape(M, 2, 4))
        assert (found.dtype, found.shape, found.device) == (dtype, (2, 4), tensor.device)
        np.testing.assert_allclose(found.float().ravel(), rule(list(tensor)).float(), atol=1e-6)
        state = rule(states(dtype=dtype))
        assert type(state) is OrderedDict
        assert list(state) == ["weight", "count", "bias"]
        assert state["weight"].dtype == state["bias"].dtype == dtype
        assert state["weight"].shape == SHAPE
        assert state["count"].dtype == torch.int64
        assert 7 <= state["count"] < 7 + M
        jumps = name in {"krum", "bulyan", "signguard"}
        if not jumps or dtype.itemsize > 2:
            np.testing.assert_allclose(found.float().ravel(), expected, atol=bound)
            np.testing.assert_allclose(vector(state), expected, atol=bound)
    for array in (ROWS, ROWS.astype(np.float64), ROWS.astype(np.float16)):
        found = rule(array.reshape(M, 2, 4))
        assert (type(found), found.dtype, found.shape) == (np.ndarray, array.dtype, (2, 4))
        assert rule(list(array)).dtype == array.dtype
    assert np.array_equal(rule(ROWS), expected)


@pytest.mark.parametrize("name", sorted(PRE))
def test_pre_aggregators_give_models(name):
    before, expected = own(name), PRE[name](ROWS).rows
    found = before(torch.tensor(ROWS))
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found, expected)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        assert before(torch.tensor(ROWS, dtype=dtype)).dtype == dtype
        assert {each["bias"].dtype for each in before(states(dtype=dtype))} == {dtype}
    mixed = before(states())
    assert [type(each) for each in mixed] == [OrderedDict] * len(expected)
    np.testing.assert_array_equal([vector(each) for each in mixed], expected)
    composed = rules.median(before(states()))
    np.testing.assert_allclose(vector(composed), rules.median(expected))


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_weights_of_any_kind(kind):
    weights = [*range(1, M + 1)]
    expected = np.average(ROWS, axis=0, weights=weights)
    found = rules.mean(states(), weights=kind(weights))
    np.testing.assert_allclose(vector(found), expected, rtol=1e-5)


def test_a_reference_is_a_model():
    rows = np.vstack([ROWS, ROWS[:4] + 9])
    found = rules.monna(states(rows), fraction=0.4, reference=states(ROWS + 9)[0])
    assert vector(found).mean() > 6
    assert vector(rules.monna(states(rows), fraction=0.4)).mean() < 4


def test_an_origin_is_the_model_that_clients_started_from():
    start, towards = np.full(D, 5.0), np.full(D, 6.0)
    models = states(ROWS - 3 + 0.1 + start)
    found = rules.fltrust(models, reference=states([towards])[0], origin=states([start])[0])
    expected = rules.fltrust(ROWS - 3 + 0.1, reference=np.ones(D)) + start
    np.testing.assert_allclose(vector(found), expected, rtol=1e-4)
    layered = rules.lasa(models, origin=states([start])[0])  # by the arrays of the state_dicts
    flat = rules.lasa(ROWS - 3 + 0.1)
    assert not np.allclose(vector(layered) - start, flat, atol=1e-3)


def test_records_of_flower():
    record = rules.median([ArrayRecord(state) for state in states()])
    assert isinstance(record, ArrayRecord)
    expected = rules.median(states())
    assert torch.equal(record.to_torch_state_dict()["weight"], expected["weight"])


def test_what_is_not_finite_takes_no_part_nor_do_its_buffers():
    spoilt = states(np.vstack([ROWS[:5], np.full((2, D), np.nan)]))
    spoilt[5]["count"] = spoilt[6]["count"] = torch.tensor(10**9)
    found = rules.trimmed_mean(spoilt, beta=0.2)
    assert np.allclose(vector(found), rules.trimmed_mean(ROWS[:5], beta=0.2))
    assert found["count"] == 9
    for state in spoilt:
        state["running_mean"] = torch.ones(2)
    spoilt[0]["running_mean"][1] = torch.nan
    assert torch.equal(rules.median(spoilt)["running_mean"], torch.ones(2))


def test_nothing_that_came_is_changed_and_large_arrays_are_not_copied():
    tensor = torch.tensor(ROWS, requires_grad=True)
    rules.mean(tensor)
    assert np.array_equal(tensor.detach().numpy(), ROWS)
    assert np.shares_memory(model_rows(tensor).rows, tensor.detach().numpy())
    assert np.shares_memory(model_rows(ROWS.reshape(M, 2, 4)).rows, ROWS)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rules.trimmed_mean(ROWS), r"trimmed_mean\.beta=: is required"),
        (lambda: rules.trimmed_mean(ROWS, beta=0.6), r"trimmed_mean\.beta=0\.6"),
        (lambda: rules.trimmed_mean(ROWS, bta=0.1), "did you mean beta"),
        (lambda: rules.mean([]), "at least one"),
        (lambda: rules.mean(np.empty((0, 3))), "at least one"),
        (lambda: rules.mean({"a": 1}), "list of arrays"),
        (lambda: rules.mean(3), "list of arrays"),
        (lambda: rules.mean([np.ones(3), np.ones(2)]), r"models\[1\]: .* shape \(2,\)"),
        (lambda: rules.mean([*states(), {"weight": np.ones(3)}]), r"models\[12\]: has other names"),
        (lambda: rules.mean([*states(), *states(dtype=torch.float64)]), r"models\[12\]: weight .*"),
        (lambda: rules.mean([np.ones(2), {"w": np.ones(2)}]), "of one kind"),
        (lambda: rules.mean([{"n": np.ones(2, int)}]), "no floating array"),
        (lambda: rules.mean(ROWS * np.nan), "mean: "),
        (lambda: rules.mean(ROWS, weights=[1, 2]), "weights: shape"),
        (lambda: rules.mean(ROWS.astype(str)), "real numbers"),
        (lambda: rules.mean(torch.eye(3).to_sparse()), "a tensor of numbers .* Sparse layout"),
        (lambda: rules.mean([torch.empty(3, device="meta")]), "a tensor of numbers .* no data"),
        (lambda: rules.krum(ROWS, fraction=0.2, reference=ROWS[0]), "krum takes none"),
        (lambda: rules.clipping(ROWS, weights=np.ones(M)), "clipping takes none"),
    ],
)
def test_one_clear_line(call, said):
    with pytest.raises(TagmaError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_name_that_is_none():
    with pytest.raises(AttributeError, match="trimed_mean"):
        rules.trimed_mean  # noqa: B018


@pytest.mark.multiprocess
def test_neither_torch_nor_flower_is_imported_for_arrays():
    code = (
        "import sys, numpy\nfrom tagma.rules import median\nmedian(numpy.ones((3, 2)))\n"
        "print([m for m in ('torch', 'flwr', 'hydra') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
