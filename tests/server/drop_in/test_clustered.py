"""`Clustered` in an ordinary app whose clients are of two groups."""

import os
from unittest.mock import patch

import numpy as np
import pytest
from flwr.app import Message

from tagma import Clustered, Robust
from tagma.errors import TagmaError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.state_file import sealed, unsealed
from tests.server.drop_in import ordinary_app as ordinary_app_module
from tests.server.drop_in.ordinary_app import (
    TRUE,
    flip,
    grid_of,
    initial,
    ordinary_app,
    weight_of,
)

_FIRST_NODE = 2


def _groups(result):
    """The clusters of the nodes of the two groups."""
    even = {row for node, row in result.clusters.items() if node % 2 == 0}
    odd = {row for node, row in result.clusters.items() if node % 2 == 1}
    return even, odd


def test_finds_the_groups_and_a_model_for_each():
    found = Clustered().start(grid_of(20, groups=2), initial(), num_rounds=3)
    even, odd = _groups(found)
    assert len(even) == len(odd) == 1
    assert even != odd
    for (row,), true in zip((even, odd), TRUE, strict=True):
        assert np.linalg.norm(weight_of(found.models[row]) - true) < 0.2
    assert found.arrays in found.models


def test_holds_against_clients_that_send_the_opposite():
    found = Clustered().start(grid_of(30, groups=2, change=flip(6)), initial(), num_rounds=4)
    honest = {node: row for node, row in found.clusters.items() if node >= _FIRST_NODE + 6}
    for group, true in enumerate(TRUE):
        (row,) = {row for node, row in honest.items() if node % 2 == group}
        assert np.linalg.norm(weight_of(found.models[row]) - true) < 0.2
    byzantine = set(found.clusters) - set(honest)
    among = {node for node in byzantine if found.clusters[node] in honest.values()}
    assert among <= found.suspects


def test_clients_evaluate_the_model_of_their_own_cluster():
    clustered = Clustered().start(grid_of(20, groups=2), initial(), num_rounds=3)
    one_model = Robust("mean").start(grid_of(20, groups=2), initial(), num_rounds=3)
    assert clustered.evaluate_metrics_clientapp[3]["eval_loss"] < 0.02
    assert one_model.evaluate_metrics_clientapp[3]["eval_loss"] > 1


def test_ifca_asks_clients_to_evaluate_each_model():
    strategy = Clustered("ifca", k=2, settings=["strategy.spread=3"], seed=1)
    found = strategy.start(grid_of(12, groups=2), initial(), num_rounds=4)
    even, odd = _groups(found)
    assert len(even) == len(odd) == 1
    assert even != odd
    (row,) = even
    assert np.linalg.norm(weight_of(found.models[row]) - TRUE[0]) < 0.3


def test_the_metric_to_choose_by_must_be_there():
    with pytest.raises(TagmaError, match=r"choose_by=nothing: .* they report eval_loss"):
        Clustered("ifca", k=2, choose_by="nothing").start(grid_of(), initial())


def _warned(caplog):
    return [text for text in caplog.messages if "of the way that they had come in round 1" in text]


@pytest.mark.parametrize(("steps", "part", "groups_found"), [(1, "80%", 1), (30, None, 2)])
@pytest.mark.parametrize("byzantine", [0, 6])
def test_a_first_round_that_is_too_short_is_told(
    caplog, monkeypatch, steps, part, groups_found, byzantine
):
    """One step of 30 leaves all clients near to where they began, and no groups are seen."""
    nearer = np.array([TRUE[0], TRUE[0] + [1, -1, 1, -1, 1, -1]])
    monkeypatch.setattr(ordinary_app_module, "TRUE", nearer)

    def change(client, number, model, metrics):
        return model * (50 if number == 2 and client < byzantine else 1), metrics

    found = Clustered().start(
        grid_of(20, groups=2, steps=steps, change=change), initial(), num_rounds=3
    )
    honest = {row for node, row in found.clusters.items() if node >= _FIRST_NODE + byzantine}
    assert len(honest) == groups_found
    warned = _warned(caplog)
    assert len(warned) == (part is not None)
    if part is not None:
        assert "train longer while server-round is 1" in warned[0]
        assert byzantine or f"round 2: clients went on by {part} of" in warned[0]


def test_other_algorithms_do_not_depend_on_round_1(caplog):
    Robust().start(grid_of(10, steps=1), initial(), num_rounds=3)
    Clustered("ifca", k=2).start(grid_of(10, groups=2, steps=1), initial(), num_rounds=3)
    assert _warned(caplog) == []


class Growing(InProcessGrid):
    """A grid to which two nodes come in round 3."""

    def __init__(self, clients: int) -> None:
        super().__init__(ordinary_app(groups=2), clients)
        self.rounds = 0

    def get_node_ids(self):
        late = list(self._contexts)[-2:]
        return [node for node in self._contexts if node not in late or self.rounds >= 3]

    def send_and_receive(self, messages, *, timeout=None):
        sent: list[Message] = list(messages)
        if sent and sent[0].metadata.message_type == "train":
            self.rounds = max(self.rounds, int(sent[0].content["config"]["server-round"]) + 1)
        return super().send_and_receive(sent, timeout=timeout)


def test_who_comes_late_joins_its_cluster():
    found = Clustered().start(Growing(22), initial(), num_rounds=4)
    even, odd = _groups(found)
    assert len(found.clusters) == 22
    assert len(even) == len(odd) == 1
    assert even != odd


class Broken(Exception):
    """What ends a run before its time."""


def _break_at(last: int):
    def evaluate(number, arrays):
        if number == last:
            raise Broken
        return None

    return evaluate


@pytest.mark.parametrize("make", [Clustered, lambda **k: Robust("centered_clipping", **k)])
def test_a_run_that_was_broken_off_goes_on(tmp_path, make):
    whole = make().start(grid_of(20, groups=2, steps=5), initial(), num_rounds=5)
    with pytest.raises(Broken):
        make(checkpoint=tmp_path).start(
            grid_of(20, groups=2, steps=5), initial(), num_rounds=5, evaluate_fn=_break_at(3)
        )
    assert {path.name for path in tmp_path.iterdir()} == {LAST, BEFORE}
    resumed = make(checkpoint=tmp_path)
    found = resumed.start(grid_of(20, groups=2, steps=5), initial(), num_rounds=5)
    assert found == whole
    assert list(tmp_path.iterdir()) == []


LAST, BEFORE = "checkpoint.safetensors", "checkpoint.before.safetensors"


def broken_off(folder):
    with pytest.raises(Broken):
        Clustered(checkpoint=folder).start(
            grid_of(20, groups=2, steps=5), initial(), num_rounds=4, evaluate_fn=_break_at(3)
        )


def go_on(folder, arrays=None, **given):
    return Clustered(checkpoint=folder, **given).start(
        grid_of(20, groups=2, steps=5), arrays or initial(), num_rounds=4
    )


def with_nan(content):
    arrays, about = unsealed(content)
    arrays["state.clustered.models"][0, 0] = np.nan
    with patch("tagma.server.state_file._finite", lambda array: True):
        return b"".join(sealed(arrays, about))


def in_another_precision(content):
    arrays, about = unsealed(content)
    arrays["state.clustered.models"] = arrays["state.clustered.models"].astype(float)
    return b"".join(sealed(arrays, about))


DAMAGES = {
    "rubbish": lambda content: b"rubbish",
    "torn": lambda content: content[:-1],
    "a flipped bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "not finite": with_nan,
    "another dtype": in_another_precision,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_costs_a_round_and_no_result(damage, tmp_path, caplog):
    broken_off(tmp_path)
    (tmp_path / LAST).write_bytes(damage((tmp_path / LAST).read_bytes()))
    found = go_on(tmp_path)
    assert found == Clustered().start(grid_of(20, groups=2, steps=5), initial(), num_rounds=4)
    (said,) = [r.getMessage() for r in caplog.records if "going on after" in r.getMessage()]
    assert said.startswith(f"{tmp_path / LAST}: cannot be gone on from (")
    assert said.endswith(f"; going on after round 2, from {BEFORE}")
    assert list(tmp_path.iterdir()) == []


def test_where_no_checkpoint_is_good_nothing_is_lost(tmp_path):
    broken_off(tmp_path)
    (tmp_path / BEFORE).unlink()
    os.mkfifo(tmp_path / BEFORE)
    for content in (b"", b"rubbish"):
        (tmp_path / LAST).write_bytes(content)
        with pytest.raises(TagmaError, match="cannot be gone on from") as error:
            go_on(tmp_path)
        assert "\n" not in str(error.value)
        assert (tmp_path / LAST).read_bytes() == content


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arrays": initial("float64")}, "another model"),
        ({"seed": 1}, "another run"),
        ({"settings": ["aggregation=median"]}, "another run"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(given, said, tmp_path):
    broken_off(tmp_path)
    with pytest.raises(TagmaError, match=said):
        go_on(tmp_path, **given)
    assert go_on(tmp_path).clusters


def test_two_servers_do_not_share_a_checkpoint(tmp_path):
    def meddle(number, arrays):
        with pytest.raises(TagmaError, match="another run is still writing there"):
            go_on(tmp_path)

    Clustered(checkpoint=tmp_path).start(
        grid_of(20, groups=2, steps=5), initial(), num_rounds=2, evaluate_fn=meddle
    )
