"""In anybody's app, too, an outage is waited for, and then the run breaks off."""

from types import SimpleNamespace

import pytest

from tagma import Clustered, Robust
from tagma.errors import FederationError, SettingError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server import patience
from tagma.server.drop_in import strategy
from tests.server.drop_in.ordinary_app import initial, ordinary_app, weight_of

CLIENTS = 12
MAKES = {
    "robust": Robust,
    "sampled": lambda **more: Robust(fraction_train=0.5, **more),
    "clustered": Clustered,
    "ifca": lambda **more: Clustered("ifca", k=2, **more),
}


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Time passes by sleeping only."""
    now = SimpleNamespace(seconds=0.0, pauses=[])

    def sleep(seconds):
        now.seconds += seconds
        now.pauses.append(seconds)

    time = SimpleNamespace(monotonic=lambda: now.seconds, sleep=sleep)
    monkeypatch.setattr(patience, "time", time)
    monkeypatch.setattr(strategy, "monotonic", time.monotonic)
    monkeypatch.setattr(strategy, "sleep", sleep)
    return now


class Outages(InProcessGrid):
    """A grid whose nodes do not answer as `out` says: of the round, the kind, and the time."""

    immediate = False

    def __init__(self, clock, out=lambda *_: False, gone=lambda seconds: False):
        super().__init__(ordinary_app(groups=2), CLIENTS)
        self.clock, self.out, self.gone = clock, out, gone
        self.round = 0

    def get_node_ids(self):
        return [] if self.round > 1 and self.gone(self.clock.seconds) else super().get_node_ids()

    def send_and_receive(self, messages, *, timeout=None):
        messages = list(messages)
        if not messages:
            return []
        self.round = messages[0].content["config"]["server-round"]
        kind = self.round, messages[0].metadata.message_type, self.clock.seconds
        replies = super().send_and_receive(messages)
        return [r for r in replies if not self.out(*kind, r.metadata.src_node_id)]


def start(make, grid, **more):
    return MAKES[make](**more).start(grid, initial(), num_rounds=3)


@pytest.mark.parametrize("kind", ["train", "evaluate"])
@pytest.mark.parametrize("make", MAKES)
def test_a_round_is_tried_again_until_enough_answer(make, kind, clock):
    whole = start(make, Outages(clock))
    found = start(make, Outages(clock, lambda number, what, seconds, node: (
        number == 2 and what == kind and seconds < 20
    )))  # fmt: skip
    assert weight_of(found.arrays).tolist() == weight_of(whole.arrays).tolist()
    assert found.evaluate_metrics_clientapp == whole.evaluate_metrics_clientapp
    assert clock.pauses == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("make", MAKES)
def test_an_outage_that_lasts_breaks_the_run_off_and_the_next_start_goes_on(make, clock, tmp_path):
    grid = Outages(clock, lambda number, what, *_: number == 3 and what == "train")
    said = r"round 3: usable updates of 0 of .*quorum=0\.5.*quorum_timeout=50 s; the next start"
    with pytest.raises(FederationError, match=said):
        start(make, grid, checkpoint=tmp_path, quorum_timeout=50)
    assert 50 <= clock.seconds <= 80
    found = start(make, Outages(clock), checkpoint=tmp_path)
    assert (
        weight_of(found.arrays).tolist() == weight_of(start(make, Outages(clock)).arrays).tolist()
    )


@pytest.mark.parametrize("make", MAKES)
def test_a_minority_cannot_stop_a_run_by_its_silence(make, clock):
    grid = Outages(clock, lambda number, what, seconds, node: node < 7)
    start(make, grid)
    assert clock.pauses == []


def test_nodes_that_are_gone_are_not_waited_for_without_end(clock):
    start("robust", Outages(clock, gone=lambda seconds: seconds < 50))
    said = "round 2: 0 nodes are here, min_available_nodes=2; waited for quorum_timeout=600 s; with"
    with pytest.raises(FederationError, match=said):
        start("robust", Outages(clock, gone=lambda seconds: True))


def test_newcomers_have_their_tries_after_an_outage_as_before(clock):
    """Three clients come in round 2, of which nothing is heard while nobody can be heard."""

    class Late(Outages):
        def get_node_ids(self):
            return [node for node in super().get_node_ids() if node > 4 or self.round > 0]

    silent = Late(clock, lambda number, what, seconds, node: number == 2 and seconds < 40)
    found = start("clustered", silent)
    assert len(found.clusters) == CLIENTS


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"quorum": 1.5}, r"quorum=1\.5: should be less than or equal to 1"),
        ({"quorum_timeout": -1}, "quorum_timeout=-1: should be greater than or equal to 0"),
    ],
)
def test_a_quorum_that_cannot_be_is_one_line(more, said):
    with pytest.raises(SettingError, match=said):
        Robust(**more)
