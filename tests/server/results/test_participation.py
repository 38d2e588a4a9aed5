"""Nodes that are late, away or back: the run goes on, says so, and the numbers are right."""

import csv

import numpy as np
import pytest

from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.layout import Layout
from tagma.server.federation import run_federation
from tagma.server.results.participation import notices_of
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose, join_overrides
from tagma.wire import ARRAYS, WORK, config_of, pack, round_of
from tests.conftest import SMALL

ODD = 7
LAYOUT = Layout.of({"coefficients": np.zeros(5)})
NODE = 2 + ODD


def forged(vector):
    return pack(LAYOUT, vector)


class MovingGrid(InProcessGrid):
    """An in-process grid on which one client's node comes and goes, and may change its id."""

    def __init__(self, overrides, *, ids, client=client_app):
        super().__init__(client, 20, join_overrides(overrides))
        self.ids = ids
        self.round = 1
        for node in set(ids.values()) - {None, NODE}:
            context = self._contexts[NODE]
            self._contexts[node] = type(context)(1, node, context.node_config, context.state,
                                                 context.run_config)  # fmt: skip
        self.asked = []

    def get_node_ids(self):
        others = [node for node in range(2, 22) if node != NODE]
        here = self.ids.get(self.round)
        return others if here is None else [*others, here]

    def send_and_receive(self, messages, *, timeout=None):
        messages = list(messages)
        self.asked.append([(m.metadata.dst_node_id, config_of(m)[WORK]) for m in messages])
        replies = super().send_and_receive(messages)
        if messages and config_of(messages[0])[WORK] != "local_model":
            self.round += 1
        elif self.round == 1:
            self.round = 2
        return replies


def run(tmp_path, ids, *overrides, client=client_app):
    settings = compose([*SMALL, "start_timeout=0.01", *overrides])
    grid = MovingGrid(settings.overrides, ids=ids, client=client)
    run_federation(grid, settings, tmp_path, [])
    return read_metrics(tmp_path), grid


def test_a_late_client_gets_the_cluster_it_would_have_had(tmp_path):
    whole, _ = run(tmp_path, dict.fromkeys(range(1, 9), NODE), "attack=none")
    late, _ = run(tmp_path, dict.fromkeys(range(3, 9), NODE), "attack=none")
    assert late["misclustering"] == whole["misclustering"] == 0
    assert late["participation"]["joined_late"] == {str(ODD): 3}
    assert late["participation"]["quarantined"] == []
    assert sum(c["size"] for c in late["clusters"]) == 20
    assert any(f"client {ODD} joined in round 3" in text for text in late["warnings"])


def test_a_late_client_outside_every_ball_waits_in_quarantine(tmp_path):
    def byzantine_client(message, context):
        reply = client_app(message, context)
        if context.node_config["partition-id"] == ODD and ARRAYS in reply.content:
            reply.content[ARRAYS] = forged(np.full(5, 1e6))
        return reply

    metrics, grid = run(
        tmp_path, dict.fromkeys(range(2, 9), NODE), "attack=none", client=byzantine_client
    )
    assert metrics["participation"]["quarantined"] == [ODD]
    assert sum(c["size"] for c in metrics["clusters"]) == 19
    asked = [kind for batch in grid.asked for node, kind in batch if node == NODE]
    assert asked == ["local_model", "evaluate"]  # the initial model: it has no other
    # It is honest by its number, so it counts as one of 20 that is not with its own.
    assert metrics["misclustering"] == pytest.approx(1 / 20)
    rows = (tmp_path / "clusters.csv").read_text().splitlines()
    assert rows[1 + ODD].split(",")[:2] == [str(ODD), ""]


def test_with_quarantine_a_late_outsider_gets_the_model_but_has_no_influence(tmp_path):
    def byzantine_client(message, context):
        reply = client_app(message, context)
        if context.node_config["partition-id"] == ODD and ARRAYS in reply.content:
            reply.content[ARRAYS] = forged(np.full(5, 1e6))
        return reply

    rules = ("attack=none", "strategy.quarantine=true", "oracle=false")
    late = dict.fromkeys(range(2, 9), NODE)
    metrics, grid = run(tmp_path, late, *rules, client=byzantine_client)
    assert metrics["participation"]["quarantined"] == metrics["screening"]["quarantined"] == [ODD]
    assert any(f"client {ODD} joined in round 2 and is in quarantine" in w
               for w in metrics["warnings"])  # fmt: skip
    asked = [kind for batch in grid.asked for node, kind in batch if node == NODE]
    assert asked == ["local_model", *["gradient"] * 3, "evaluate"]
    row = (tmp_path / "clusters.csv").read_text().splitlines()[1 + ODD].split(",")
    assert row[1] != ""
    assert row[8:10] == ["1", "0"]
    without, _ = run(tmp_path, {}, *rules)
    assert metrics["estimation_error"] == without["estimation_error"]


def test_a_client_that_was_away_keeps_its_cluster_and_is_not_asked_again(tmp_path):
    metrics, grid = run(tmp_path, {1: NODE, 2: NODE, 3: None, 4: NODE, 5: NODE})
    assert metrics["participation"]["rounds_missed"] == {str(ODD): 1}
    assert metrics["participation"]["joined_late"] == {}
    asked = [kind for batch in grid.asked for node, kind in batch if node == NODE]
    assert asked == ["local_model", "gradient", "gradient", "evaluate"]
    assert any(f"client {ODD} was away in 1 round" in text for text in metrics["warnings"])


def test_many_that_were_away_are_a_line_for_each_number_of_rounds():
    missed = {str(client): 2 if client < 3 else 1 for client in range(15)} | {"15": 3}
    nothing = {"took_no_part": [], "joined_late": {}, "kept_model": {}, "tried_again": {},
               "resumed_before_round": []}  # fmt: skip
    assert notices_of(nothing | {"rounds_missed": missed, "quarantined": []}) == [
        "12 clients (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ...) were away in 1 round",
        "3 clients (0, 1, 2) were away in 2 rounds",
        "client 15 was away in 3 rounds",
    ]


def test_many_that_joined_late_or_kept_their_model_are_few_lines():
    joined = {str(client): 2 for client in range(12)} | {"12": 2, "13": 2, "14": 3}
    kept = {str(cluster): [2, 3] for cluster in range(40)}
    told = {"took_no_part": [], "joined_late": joined, "kept_model": kept,
            "resumed_before_round": [], "tried_again": {"3": 2, "5": 1},
            "rounds_missed": {}, "quarantined": [12, 13]}  # fmt: skip
    names = "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."
    assert notices_of(told) == [
        f"12 clients ({names}) joined in round 2 and have a cluster",
        "2 clients (12, 13) joined in round 2 and are in quarantine: no cluster's ball holds them",
        "client 14 joined in round 3 and has a cluster",
        f"40 clusters ({names}) kept their model in some rounds: too few replies",
        "too few clients answered in rounds 3, 5 at first: tried again",
    ]


def test_a_client_that_comes_back_under_another_id_has_its_old_seat(tmp_path):
    metrics, _ = run(tmp_path, {1: NODE, 2: NODE, 3: 99, 4: 99, 5: 99})
    assert metrics["participation"]["returned"] == {str(ODD): [3]}
    assert metrics["participation"]["joined_late"] == {}
    assert sum(c["size"] for c in metrics["clusters"]) == 20


def test_a_client_that_never_came_is_named(tmp_path):
    metrics, _ = run(tmp_path, {}, "attack=none")
    assert metrics["participation"]["took_no_part"] == [ODD]
    assert any(f"1 client ({ODD}) took no part" in text for text in metrics["warnings"])


def test_nobody_takes_a_seat_by_its_number_alone(tmp_path):
    def impostor(message, context):
        reply = client_app(message, context)
        if context.node_id == 99 and ARRAYS in reply.content:
            reply.content[ARRAYS] = forged(np.ones(5))
        return reply

    ids = {1: NODE, 2: NODE, 3: 99, 4: 99, 5: 99}
    metrics, _ = run(tmp_path, ids, "attack=none", client=impostor)
    assert metrics["participation"]["returned"] == {}
    assert metrics["participation"]["joined_late"] == {"20": 3}
    assert metrics["participation"]["rounds_missed"] == {str(ODD): 2}


def test_a_cluster_with_too_few_replies_keeps_its_model_and_says_so(tmp_path):
    def silent(message, context):
        if round_of(message) == 3 and context.node_config["partition-id"] % 4:
            raise RuntimeError("no")
        return client_app(message, context)

    here = dict.fromkeys(range(1, 9), NODE)
    metrics, _ = run(tmp_path, here, "min_replies=6", "quorum=0.2", client=silent)
    assert metrics["participation"]["kept_model"] == {"0": [3], "1": [3]}
    assert metrics["replies"]["kept"] == 2
    rows = list(csv.DictReader((tmp_path / "history.csv").open()))
    assert [row["kept"] for row in rows] == ["0", "0", "2", "0"]
    errors = metrics["estimation_error_per_round"]
    assert errors[2] == errors[1]
    assert errors[3] != errors[2]
    assert any("kept its model in round 3" in text for text in metrics["warnings"])


@pytest.mark.parametrize("attack", ["ipm", "infiltrate", "split", "mimic"])
def test_an_attack_on_the_whole_federation_meets_late_clients_too(attack, tmp_path):
    metrics, _ = run(tmp_path, dict.fromkeys(range(3, 9), NODE), f"attack={attack}")
    assert metrics["participation"]["joined_late"] == {str(ODD): 3}
