"""Ways to use the Strategies wrongly, each with one clear error, and hostile clients."""

from functools import partial

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord

from tagma import Clustered, Robust
from tagma.errors import TagmaError
from tests.server.drop_in.ordinary_app import TRUE, grid_of, initial, weight_of


def _without_examples(client, number, model, metrics):
    return model, {"loss": metrics["loss"]}


def _fails(client, number, model, metrics):
    return None


def _other_shape(client, number, model, metrics):
    return np.zeros((3, 2), model.dtype), metrics


def _other_precision(client, number, model, metrics):
    return model.astype(np.float64), metrics


def _shapes_of_all_kinds(client, number, model, metrics):
    return np.zeros((client + 1, 2), model.dtype), metrics


def of(array):
    return ArrayRecord({"weight": Array(array)})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Robust("trimed_mean"), "trimmed_mean"),
        (lambda: Robust("trimmed_mean", beta=0.6), r"aggregation\.beta=0\.6"),
        (lambda: Robust("trimmed_mean", gamma=1), r"aggregation\.gamma=1: there is no such"),
        (lambda: Robust("krum", pre=["nmn"]), r"aggregation\.pre=nmn"),
        (lambda: Clustered("ifka"), "ifca"),
        (lambda: Clustered("oracle"), "algorithm=oracle: it is told the truth"),
        (lambda: Clustered(beta=0.2), r"beta=0\.2: there is no such argument"),
        (lambda: Clustered(settings=["clustering.radius=-1"]), r"clustering\.radius"),
        (
            lambda: Clustered(settings=["optimiser=gradient"]).start(grid_of(20), initial()),
            "optimiser=gradient",
        ),
        (lambda: Robust(3), "rule=3: must be a name"),
        (lambda: Robust(weights="exampels"), "weights=exampels: must be examples or equal"),
        (lambda: Robust(seed="x"), "seed=x: "),
        (lambda: Robust(fraction_train=2), "fraction_train=2: should be less than or equal to 1"),
        (lambda: Robust(fraction_evaluate=float("nan")), "fraction_evaluate=nan"),
        (lambda: Robust(min_available_nodes=-1), "min_available_nodes=-1"),
        (lambda: Robust(checkpoint=__file__), "checkpoint=.*cannot be a folder"),
        (lambda: Robust(checkpoint=3), "checkpoint=3: must be a path"),
        (lambda: Robust(pre="nnm"), "pre=nnm: must be a list"),
        (lambda: Robust(pre=3), "pre=3: must be a list"),
        (lambda: Robust().start(None, initial()), "grid=NoneType: must be the Grid"),
        (lambda: Clustered(settings=None), "settings=None: must be a list"),
        (lambda: Clustered(preset=3), "preset=3: must be a name"),
        (lambda: Clustered(3), "algorithm=3: must be a name"),
        (lambda: Clustered(preset="tagmaa"), "did you mean tagma"),
        (lambda: Clustered(k=0), r"clustering\.k=0"),
        (lambda: Clustered(settings="aggregation=median"), "settings=.*: must be a list"),
        (lambda: Clustered(settings=["task.clients=3"]), "settings=task.clients=3: only strategy"),
        (lambda: Robust().start(grid_of(), initial(), num_rounds=-1), "num_rounds=-1"),
        (lambda: Robust().start(grid_of(), None), "must be an ArrayRecord"),
        (lambda: Robust().start(grid_of(), {"w": np.ones(3)}), "must be an ArrayRecord"),
        (lambda: Robust().start(grid_of(), of(np.ones(3, int))), "no floating array"),
        (lambda: Robust().start(grid_of(), of(np.ones(3) * np.nan)), "an entry is not finite"),
        (lambda: Robust().start(grid_of(), ArrayRecord()), "initial_arrays"),
        (lambda: Robust(weighted_by_key="n").start(grid_of(), initial()), "number of examples"),
        (lambda: Robust().start(grid_of(change=_shapes_of_all_kinds), initial()), "wrong shape"),
        (lambda: Robust().start(grid_of(change=_without_examples), initial()), "examples"),
        (lambda: Robust().start(grid_of(change=_fails), initial()), "this client fails"),
        (lambda: Robust().start(grid_of(change=_other_shape), initial()), "wrong shape"),
        (lambda: Robust().start(grid_of(change=_other_precision), initial()), "wrong dtype"),
    ],
)
def test_one_clear_line(make, said):
    with pytest.raises(TagmaError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "spoil",
    [_without_examples, _fails, _other_shape, _other_precision,
     lambda c, n, model, metrics: (model * np.nan, metrics),
     lambda c, n, model, metrics: (model, metrics | {"num-examples": -1}),
     lambda c, n, model, metrics: (model, metrics | {"num-examples": float("nan")}),
     lambda c, n, model, metrics: (model, metrics | {"num-examples": [1, 2]}),
     lambda c, n, model, metrics: (model, {})],
)  # fmt: skip
@pytest.mark.parametrize("make", [Robust, Clustered])
def test_broken_clients_do_not_stop_the_others(make, spoil, caplog):
    def change(client, number, model, metrics):
        return spoil(client, number, model, metrics) if client < 3 else (model, metrics)

    found = make().start(grid_of(16, change=change), initial(), num_rounds=3)
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.2
    assert "round 1: replies dropped: 3 " in caplog.text
    assert len(found.evaluate_metrics_clientapp) == 3


@pytest.mark.parametrize("make", [Robust, Clustered])
def test_a_later_round_without_replies_is_not_done(make, tmp_path):
    failing = {2}

    def change(client, number, model, metrics):
        return None if number in failing else (model, metrics)

    def start(**more):
        return make(checkpoint=tmp_path, **more).start(
            grid_of(change=change), initial(), num_rounds=3
        )

    said = (
        r"round 2: usable updates of 0 of 10 clients .*quorum=0\.5 needs 5; the next start goes on"
    )
    with pytest.raises(TagmaError, match=said):
        start()
    failing.clear()
    found = start()
    whole = make().start(grid_of(), initial(), num_rounds=3)
    assert weight_of(found.arrays).tolist() == weight_of(whole.arrays).tolist()


@pytest.mark.parametrize("make", [partial(Robust, "median"), Clustered])
def test_one_client_is_enough_where_it_is_allowed(make):
    strategy = make(min_available_nodes=1, min_train_nodes=1)
    found = strategy.start(grid_of(1), initial(), num_rounds=2)
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.3
