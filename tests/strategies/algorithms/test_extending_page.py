"""The algorithms of docs/extending.md, as a reader would have them: run, killed and resumed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tagma.exchange import NO_MODEL, Replies
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.server_step import GradientStep
from tagma.strategies.clustering import Clustering
from tests.server.test_checkpoint import run, whole

PAGE = Path(__file__).parents[3] / "docs/extending.md"


SAMPLED = """
class Sampled(Regroup):
    # Clusters those who are drawn, and asks nobody who he is: only attacks remember the others.

    def everyone(self, state, round_number):
        return False

    def ask(self, state, round_number, clients):
        if (round_number - 1) % self.every == 0:
            return Regroup.introduce(self, state, clients)
        return super().ask(state, round_number, clients)

    def introduce(self, state, clients):
        return None
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The module that a reader copies from the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "mine_of_the_page.py").write_text("\n\n".join([*blocks, SAMPLED]))
    monkeypatch.syspath_prepend(tmp_path)
    import mine_of_the_page

    yield mine_of_the_page
    del sys.modules["mine_of_the_page"]


OWN = {
    "Polyak": ["attack=sign_flip"],
    "Polyak, local training": ["optimiser=local", "optimiser.step=0.1", "attack=alie"],
    "Regroup": ["strategy.every=3", "attack=alie", "sampling.fraction=0.5"],
    "Sampled": ["strategy.every=3", "attack=alie", "sampling.fraction=0.5"],
    "Regroup, rehearsed": ["strategy.every=2", "attack=ipm", "attack.optimise=true"],
}


@pytest.mark.parametrize("name", OWN)
def test_it_is_resumed_with_the_same_bytes(name, mine, tmp_path):
    target = f"strategy._target_=mine_of_the_page.{name.partition(',')[0]}"
    overrides = ["strategy=own", target, *OWN[name]]
    run(tmp_path / "a", *overrides)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", *overrides, dies_in=3)
    run(tmp_path / "b", *overrides, "resume=true")
    assert whole(tmp_path / "a")[0] == whole(tmp_path / "b")[0]
    both = [(tmp_path / each / "models.safetensors").read_bytes() for each in ("a", "b")]
    assert both[0] == both[1]


def by_sign(clients, local_models):
    """Two clusters, of what is below and above zero; beyond 100 is outside of both."""
    labels = (local_models[:, 0] > 0).astype(np.int64)
    return Clustering(
        labels=labels,
        centres=np.array([[-1.0], [1.0]]),
        trimmed=np.abs(local_models[:, 0]) > 100,
        radius=np.full(2, 100.0),
        history=labels[None],
        iterations=0,
        stopped="given",
    )


def replies(clients, *numbers):
    return Replies(np.array(clients), np.array(numbers)[:, None], np.ones(len(clients), dtype=int))


def test_regroup_gives_places_by_hand(mine):
    algorithm = mine.Regroup(cluster=by_sign, aggregate=mean, optimiser=GradientStep(step=1.0))
    run = AlgorithmRun(algorithm, {"w": np.zeros(1)}, sampling=0.5)
    run.clients.joined = dict.fromkeys([0, 1, 3], 1)
    clients = run.clients.numbers

    def played(number, asked, *answers):
        request = run.algorithm.ask(run.state, number, np.array(asked))
        run.learn(request, replies(request.clients, *answers), {})
        return request

    first = played(1, [0, 1, 3], 5.0, -5.0, 1e9)
    assert first.received(clients).tolist() == [[0.0], [0.0], [0.0]]
    assert run.algorithm.serve(run.state, clients)[1].tolist() == [1, 0, NO_MODEL]

    run.clients.joined[2] = 2
    run.admit(replies([2], 0.75))
    second = played(2, [0, 1, 2, 3], 0.5, 0.25, 1.5)
    assert second.clients.tolist() == [0, 1, 2]
    models, which = run.algorithm.serve(run.state, run.clients.numbers)
    assert (models[:, 0].tolist(), which.tolist()) == ([-1.25, 0.0], [1, 0, 1, NO_MODEL])

    assert run.draw(6, run.clients.numbers)[0].tolist() == [0, 1, 2, 3]
    played(6, [0, 1, 2, 3], -5.0, -5.0, 5.0, 5.0)
    assert run.algorithm.serve(run.state, run.clients.numbers)[1].tolist() == [0, 0, 1, 1]
