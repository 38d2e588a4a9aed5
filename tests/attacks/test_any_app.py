"""Attacks in an ordinary Flower app, by a mod of its ClientApp or a Grid of its ServerApp."""

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict
from flwr.serverapp.strategy import FedAvg

from tagma import Robust, byzantine, byzantine_grid
from tagma.attacks.base import LocalAttack, OmniscientAttack
from tagma.errors import TagmaError
from tagma.tasks.roles import byzantine_clients
from tests.server.drop_in.ordinary_app import TRUE, data, grid_of, initial, weight_of

CLIENTS, ROUNDS = 10, 2
DRAWN = np.flatnonzero(byzantine_clients(CLIENTS, 0.2, 3)).tolist()


class Sends(Robust):
    """The mean, which keeps what clients send, by round and partition."""

    def __init__(self) -> None:
        super().__init__("mean")
        self.sent: dict[int, dict[int, RecordDict]] = {}

    def aggregate_train(self, server_round, replies):
        came = list(replies)
        self.sent[server_round] = {
            reply.metadata.src_node_id - 2: reply.content for reply in came if reply.has_content()
        }
        return super().aggregate_train(server_round, came)


def sent_under(mod=None, wrap=lambda grid: grid, **app):
    strategy = Sends()
    grid = grid_of(CLIENTS, **app, mods=() if mod is None else (mod,))
    result = strategy.start(wrap(grid), initial(), num_rounds=ROUNDS)
    return strategy.sent, result


def model(content):
    return weight_of(content["arrays"])


def changed(found, number=1):
    honest, _ = sent_under()
    return [
        client
        for client, content in found[number].items()
        if not np.array_equal(model(content), model(honest[1][client]))
    ]


def test_a_share_of_the_partitions_sends_the_opposite():
    honest, _ = sent_under()
    found, _ = sent_under(byzantine("sign_flip", fraction=0.2, seed=3, scale=2))
    assert changed(found) == DRAWN
    for client in DRAWN:
        content = found[1][client]
        np.testing.assert_allclose(model(content), -2 * model(honest[1][client]), rtol=1e-5)
        assert content["arrays"]["weight"].dtype == "float32"
        assert content["arrays"]["seen"].numpy() == 1
        assert content["metrics"] == honest[1][client]["metrics"]


def test_from_the_second_round_the_progress_is_reversed():
    found, _ = sent_under(byzantine("sign_flip", clients=[0], scale=1))
    assert changed(found) == [0]
    weights = [each["metrics"]["num-examples"] for each in found[1].values()]
    before = np.average([model(each) for each in found[1].values()], axis=0, weights=weights)
    inputs, outputs = data(0)
    trained = before.copy()
    for _ in range(30):
        trained -= 0.2 * inputs.T @ (inputs @ trained - outputs) / len(outputs)
    np.testing.assert_allclose(model(found[2][0]), 2 * before - trained, atol=1e-4)


def test_fedavg_is_led_away_and_robust_is_not():
    mod = byzantine("sign_flip", fraction=0.2, scale=8)
    led = FedAvg().start(grid_of(mods=[mod]), initial(), num_rounds=3)
    held = Robust(beta=0.2).start(grid_of(mods=[mod]), initial(), num_rounds=3)
    assert np.linalg.norm(weight_of(led.arrays) - TRUE[0]) > 5
    assert np.linalg.norm(weight_of(held.arrays) - TRUE[0]) < 0.2


def test_attacks_begin_and_remember():
    found, _ = sent_under(byzantine("lazy", clients=[4], start=2))
    assert changed(found, 1) == []
    np.testing.assert_array_equal(
        model(found[2][4]),
        weight_of(Robust("mean").start(grid_of(), initial(), num_rounds=1).arrays),
    )
    found, _ = sent_under(byzantine("stale", clients=[4], delay=1))
    np.testing.assert_array_equal(model(found[2][4]), model(found[1][4]))


@pytest.mark.parametrize("kind", ["not_a_number", "infinite", "wrong_shape", "huge", "empty"])
def test_garbage_is_dropped(kind):
    mods = [byzantine("garbage", fraction=0.2, kind=kind)]
    found = Robust("median").start(grid_of(mods=mods), initial(), num_rounds=1)
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.3


def context_of(**told):
    return Context(run_id=1, node_id=7, node_config=told, state=RecordDict(), run_config={})


@pytest.mark.parametrize(
    ("told", "attacks"),
    [
        ({"byzantine": True}, True),
        ({"byzantine": True, "partition-id": 1, "num-partitions": 2}, True),
        ({"byzantine": False, "partition-id": 0, "num-partitions": 1}, False),
        ({"partition-id": 0, "num-partitions": 1}, True),
    ],
)
def test_what_a_node_is_told_comes_first(told, attacks):
    grid_of(1)  # which makes this process a server, so that messages can be made
    content = RecordDict({"model": initial()})
    message = Message(content, 7, "train")
    replies = []

    def honest(message, context):
        trained = initial()
        trained["weight"] = type(trained["weight"])(np.ones((2, 3), np.float32))
        message.metadata.__dict__["_message_id"] = "1"
        replies.append(Message(RecordDict({"model": trained}), reply_to=message))
        return replies[-1]

    found = byzantine(fraction=0.9)(message, context_of(**told), honest)
    assert weight_of(found.content["model"]).mean() == (-1 if attacks else 1)


def test_a_node_that_is_told_nothing():
    grid_of(1)
    message = Message(RecordDict({"model": initial()}), 7, "train")
    with pytest.raises(TagmaError, match="byzantine=true"):
        byzantine()(message, context_of(), lambda *_: message)


def test_evaluation_is_honest():
    _, expected = sent_under()
    _, found = sent_under(byzantine("sign_flip", fraction=0.2, start=3))
    assert found.evaluate_metrics_clientapp == expected.evaluate_metrics_clientapp


class Ones(LocalAttack):
    def forge(self, honest, view):
        return np.ones_like(honest)


class Twos(OmniscientAttack):
    def forge(self, view):
        assert view.honest.shape == (8, 6)
        return np.full_like(view.own, 2)


def test_attacks_of_ones_own():
    found, _ = sent_under(byzantine(Ones(), clients=[1]))
    assert model(found[2][1]).tolist() == [1] * 6
    found, _ = sent_under(wrap=lambda grid: byzantine_grid(grid, Twos(), fraction=0.2, seed=3))
    assert changed(found) == DRAWN
    assert all(model(found[2][client]).tolist() == [2] * 6 for client in DRAWN)
    assert found[2][DRAWN[0]]["arrays"]["seen"].numpy() == 2


def test_on_the_servers_side_the_same_clients_collude():
    honest, _ = sent_under()
    found, _ = sent_under(
        wrap=lambda grid: byzantine_grid(grid, "alie", fraction=0.2, seed=3, z=2.0)
    )
    assert changed(found) == DRAWN
    others = np.array([model(honest[1][c]) for c in range(CLIENTS) if c not in DRAWN])
    expected = others.mean(axis=0) - 2.0 * others.std(axis=0, ddof=1)
    for client in DRAWN:
        np.testing.assert_allclose(model(found[1][client]), expected, rtol=1e-4)


def test_broken_replies_are_left_to_the_strategy():
    def change(client, number, model, metrics):
        return None if client == DRAWN[0] else (model * np.nan if client == 9 else model, metrics)

    def wrap(grid):
        return byzantine_grid(grid, "ipm", fraction=0.2, seed=3)

    grid = wrap(grid_of(CLIENTS, change=change))
    found = Robust("median").start(grid, initial(), num_rounds=2)
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: byzantine("sign_flop"), "sign_flip"),
        (lambda: byzantine("alie"), "byzantine_grid"),
        (lambda: byzantine("label_flip"), "data of a task"),
        (lambda: byzantine("wrong_choice"), "several models"),
        (lambda: byzantine("sign_flip", fraction=1.5), r"byzantine\.fraction=1\.5"),
        (lambda: byzantine("sign_flip", clients=[-1]), r"byzantine\.clients"),
        (lambda: byzantine("sign_flip", scale=-1), r"attack\.scale=-1"),
        (lambda: byzantine("sign_flip", scales=1), "did you mean scale"),
        (lambda: byzantine(Ones(), scale=1), r"attack\.scale"),
        (lambda: byzantine(fraction=0.2, clients=[1]), "a share or the clients, not both"),
        (lambda: byzantine(clients=3), r"byzantine\.clients=3"),
        (lambda: byzantine(clients="all"), r"byzantine\.clients"),
        (lambda: byzantine(fraction=float("nan")), r"byzantine\.fraction=nan"),
        (lambda: byzantine(fraction=0.2, seed="x"), r"byzantine\.seed=x"),
        (lambda: byzantine(start=5, stop=2), r"attack\.stop=2: is before the first round"),
        (lambda: byzantine(None), r"attack\.name=None: there is no such choice"),
        (lambda: byzantine_grid(None, "alie"), "grid=NoneType: must be the Grid"),
        (lambda: byzantine_grid(grid_of(), "allie"), "did you mean alie"),
        (lambda: byzantine_grid(grid_of(), 5), r"attack\.name=5: there is no such choice"),
        (lambda: byzantine_grid(grid_of(), "alie", zz=1), "did you mean z"),
        (lambda: byzantine_grid(grid_of(), "alie", clients=[1]), "clients=.*no such argument"),
        (lambda: byzantine_grid(grid_of(), "alie", fraction=1.0), r"byzantine\.fraction=1\.0"),
        (lambda: byzantine_grid(grid_of(), "alie", fraction=0.2, seed=-1), r"byzantine\.seed=-1"),
        (lambda: byzantine_grid(grid_of(), "sign_flip"), "give it to the ClientApp"),
        (lambda: byzantine_grid(grid_of(), "split"), "true groups"),
        (lambda: byzantine_grid(grid_of(), "alie", optimise=True), "cannot be rehearsed"),
    ],
)
def test_one_clear_line(make, said):
    with pytest.raises(TagmaError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)
