"""An outage is no round: it is waited for, and then the run breaks off and can be gone on with."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file

from tagma.client.app import app as client_app
from tagma.errors import FederationError
from tagma.exchange import EVALUATE, INTRODUCE
from tagma.launch.engines import inprocess, vectorised
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server import patience
from tagma.server.checkpoint import can_be_resumed, load_checkpoint
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose, join_overrides
from tagma.wire import round_of, work_of
from tests.algorithms import ALGORITHMS
from tests.command import tagma
from tests.conftest import SMALL

BYZANTINE = range(2, 11)
"""The nodes of nine of twenty clients."""


@pytest.fixture
def clock(monkeypatch):
    """Time passes by sleeping only."""
    now = SimpleNamespace(seconds=0.0, pauses=[])

    def sleep(seconds):
        now.seconds += seconds
        now.pauses.append(seconds)

    monkeypatch.setattr(
        patience, "time", SimpleNamespace(monotonic=lambda: now.seconds, sleep=sleep)
    )
    return now


class Outages(InProcessGrid):
    """A grid whose nodes do not answer, or are not there, as `out` says of an exchange.

    It is told the round, the work, how often it was asked before, and the node.
    """

    immediate = False

    def __init__(self, settings, out, *, gone=False):
        super().__init__(client_app, 20, join_overrides(settings.overrides))
        self.out, self.gone = out, gone
        self.tries, self.sent = {}, []

    def get_node_ids(self):
        nodes = super().get_node_ids()
        return [n for n in nodes if not (self.gone and self.out(None, None, len(self.sent), n))]

    def send_and_receive(self, messages, *, timeout=None):
        messages = list(messages)
        replies = super().send_and_receive(messages)
        if not messages:
            self.sent.append(())
            return replies
        kind = round_of(messages[0]), work_of(messages[0])
        self.tries[kind] = self.tries.get(kind, -1) + 1
        self.sent.append(kind)
        return [
            reply
            for reply in replies
            if self.gone or not self.out(*kind, self.tries[kind], reply.metadata.src_node_id)
        ]


def play(folder, out=lambda *_: False, *overrides, gone=False):
    settings = compose([*SMALL, "oracle=false", *overrides])
    grid = Outages(settings, out, gone=gone)
    run_federation(grid, settings, folder, [], "deployment")
    return grid


def result(folder):
    metrics = read_metrics(folder)
    for varies in ("seconds", "messages", "bytes", "warnings", "participation", "replies"):
        metrics.pop(varies)
    return json.dumps(metrics), load_file(folder / "models.safetensors")["models"].tolist()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    play(folder)
    return result(folder)


@pytest.mark.parametrize(
    "out",
    [
        lambda number, work, tried, node: number == 3 and tried < 4,
        lambda number, work, tried, node: number == 3 and tried < 4 and node % 3,
        lambda number, work, tried, node: number == 1 and tried < 4,
        lambda number, work, tried, node: work == EVALUATE and tried < 4,
    ],
    ids=["all", "most", "in the first round", "in the evaluation"],
)
def test_a_round_is_tried_again_until_enough_answer(out, clock, whole, tmp_path):
    play(tmp_path, out)
    assert result(tmp_path) == whole
    assert clock.pauses == [1, 2, 4, 8]
    metrics = read_metrics(tmp_path)
    assert list(metrics["participation"]["tried_again"].values()) == [4]
    assert metrics["participation"]["rounds_missed"] == {}
    assert metrics["replies"]["rejected"] == {}
    assert any("too few clients answered in round" in text for text in metrics["warnings"])


def test_nodes_that_are_gone_are_waited_for(clock, whole, tmp_path):
    grid = play(tmp_path, lambda number, work, asked, node: 2 <= asked < 9, gone=True)
    assert result(tmp_path) == whole
    assert grid.sent.count(()) == 7  # nobody was there to be asked
    assert max(clock.pauses) == 30


def test_an_outage_that_lasts_breaks_the_run_off_and_it_goes_on_later(clock, whole, tmp_path):
    said = (
        r"round 3: usable updates of 0 of 20 clients \(20 no reply\), quorum=0\.5 needs 10; "
        r"waited for quorum_timeout=60 s; "
        f"the run goes on from its last round with: tagma resume {tmp_path}"
    )
    with pytest.raises(FederationError, match=said):
        play(tmp_path, lambda number, *_: number == 3, "quorum_timeout=60")
    assert 60 <= clock.seconds <= 90
    assert load_checkpoint(tmp_path).round == 2
    assert not (tmp_path / "metrics.json").exists()
    assert (tmp_path / "history.csv").read_text().count("\n") == 3
    play(
        tmp_path, lambda number, work, tried, node: tried < 5, "resume=true"
    )  # also when asked who
    assert result(tmp_path) == whole


def test_the_last_evaluation_is_a_part_of_the_run(clock, whole, tmp_path):
    with pytest.raises(FederationError, match="round 4: evaluations of 0 of 20 clients"):
        play(tmp_path, lambda number, work, *_: work == EVALUATE)
    assert load_checkpoint(tmp_path).round == 3
    play(tmp_path, lambda *_: False, "resume=true")
    assert result(tmp_path) == whole


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_minority_cannot_stop_a_run_by_its_silence(name, first, clock, tmp_path):
    def out(number, work, tried, node):
        return node in BYZANTINE and number >= first

    play(tmp_path, out, "attack=none", *ALGORITHMS[name])
    assert clock.pauses == []
    metrics = read_metrics(tmp_path)
    replies, exchanges = metrics["replies"], metrics["participation"]["exchanges"]
    assert replies["rejected"]["no reply"] >= 9
    answered = replies["used"] + exchanges["introduced"]
    assert answered + sum(replies["rejected"].values()) == exchanges["asked"]


def test_nor_where_chance_draws_it_into_a_sample(clock, tmp_path):
    drawn = []

    def out(number, work, tried, node):
        drawn.append((number, tried))
        return node in BYZANTINE and number > 1

    own = ["strategy=fedavg", "attack=none", "sampling.fraction=0.15", "rounds=12"]
    play(tmp_path, out, *own)
    assert clock.pauses == []  # all others were asked at once
    assert {number for number, tried in drawn if tried} != set()
    assert read_metrics(tmp_path)["participation"]["tried_again"] != {}


def test_newcomers_that_say_nothing_are_asked_three_times_and_an_outage_counts_for_none(
    clock, tmp_path
):
    def out(number, work, tried, node):
        known = node > 4
        return not known if work == INTRODUCE else (number == 3 and tried < 5)

    grid = play(
        tmp_path, out, "strategy=fedavg", "sampling.fraction=0.9", "attack=none", "rounds=9"
    )
    asked = [kind for kind in grid.sent if kind and kind[1] == INTRODUCE]
    # With all others, then twice; five times in vain, and once more when the round counts.
    assert len(asked) == 1 + 2 + 5
    assert read_metrics(tmp_path)["participation"]["took_no_part"] == [0, 1, 2]


def test_who_is_away_by_a_schedule_is_not_missed(clock, tmp_path):
    away = ["absence.fraction=0.9", "attack=none", "min_replies=1"]
    play(tmp_path, lambda *_: False, *away)
    assert clock.pauses == []
    with pytest.raises(FederationError, match="of 2 clients"):
        play(tmp_path, lambda number, *_: number == 2, *away, "quorum_timeout=0")


def test_without_a_quorum_one_answer_is_enough_but_none_is_not(clock, tmp_path):
    def alone(number, work, tried, node):
        return number == 2 and node > 2

    play(tmp_path, alone, "quorum=0", "attack=none")
    assert clock.pauses == []
    with pytest.raises(FederationError, match="quorum=0 needs 1"):
        play(tmp_path, lambda number, *_: number == 2, "quorum=0")


@pytest.mark.parametrize("engine", [inprocess, vectorised])
def test_in_one_process_there_is_nothing_to_wait_for(engine, tmp_path):
    majority = ["attack=garbage", "attack.kind=wrong_shape", "attack.fraction=0.6"]
    settings = compose([*SMALL, *majority, "attack.start=3", "strategy=fedavg"])
    said = "round 3: usable updates of 8 of 20 clients .12 wrong shape., quorum=0.5 needs 10; the"
    with pytest.raises(FederationError, match=said):
        engine.run(settings, tmp_path, lambda event: None)
    assert can_be_resumed(tmp_path)
    assert not (tmp_path / "metrics.json").exists()


@pytest.mark.parametrize("engine", [inprocess, vectorised])
def test_models_that_diverge_are_answers(engine, tmp_path):
    settings = compose([*SMALL, "optimiser.step=1e60"])
    engine.run(settings, tmp_path, lambda event: None)
    assert any("diverged" in text for text in read_metrics(tmp_path)["warnings"])


def test_the_command_says_so_and_fails(tmp_path):
    own = ["task.clients=6", "task.clusters=1", "task.dim=3", "rounds=3", "strategy=fedavg"]
    bad = ["attack=garbage", "attack.kind=empty", "attack.clients=[0,1,2,3]", "attack.start=3"]
    done = tagma("run", *own, *bad, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "tagma: error: round 3: usable updates of 2 of 6 clients (4 unexpected records), quorum=0.5"
    )
    assert "tagma resume" in done.stderr
    assert can_be_resumed(tmp_path / "out")
    again = tagma("resume", "out", "quorum=0.3", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert np.isfinite(read_metrics(tmp_path / "out")["estimation_error"])
