"""Who claims another model sends what the honest program makes of that one, on the wire too."""

import numpy as np
import pytest

from tagma.attacks.adversary import adversary_of
from tagma.attacks.base import LocalAttack
from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.settings import compose, join_overrides
from tagma.tasks.task_choice import task_of
from tests.algorithms import ALGORITHMS, TINY

IFCA = [*TINY, *ALGORITHMS["ifca"], "oracle=false", "evaluate=false", "checkpoint_every=0"]


class ManyExamples(LocalAttack):
    """Claims to have a thousand examples, and no such model as it names."""

    def report(self, honest, view):
        return {**honest, "num-examples": 1000, "choice": 7}


def exchanges(monkeypatch, tmp_path, *attack):
    """Request and replies of every round of a run, its task, and who is Byzantine."""
    from tagma.server import federation

    seen, algorithm_of = [], federation.algorithm_of

    def recorded(settings):
        algorithm = algorithm_of(settings)
        learn = algorithm.learn

        def remember(state, request, replies):
            seen.append((request, replies))
            return learn(state, request, replies)

        monkeypatch.setattr(algorithm, "learn", remember, raising=False)
        return algorithm

    settings = compose([*IFCA, *attack])
    task = task_of(settings)
    grid = InProcessGrid(client_app, task.clients, join_overrides(settings.overrides))
    with monkeypatch.context() as patch:
        patch.setattr(federation, "algorithm_of", recorded)
        federation.run_federation(grid, settings, tmp_path, [])
    return seen, task, adversary_of(settings).byzantine


@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_a_byzantine_client_sends_its_gradient_of_the_model_that_fits_it_least(
    scale, monkeypatch, tmp_path
):
    attack = ["attack=wrong_choice", f"attack.scale={scale}"]
    seen, task, byzantine = exchanges(monkeypatch, tmp_path, *attack)
    assert byzantine.sum() == 3
    assert len(seen) == 3
    for request, replies in seen:
        assert replies.clients.tolist() == list(range(8))
        for client, vector, choice in zip(
            replies.clients, replies.vectors, replies.extras["choice"], strict=True
        ):
            data = task.train(client)
            best = int(np.argmin([task.loss(model, data) for model in request.models]))
            claimed = 1 - best if byzantine[client] else best
            assert choice == claimed
            factor = scale if byzantine[client] else 1.0
            assert np.allclose(vector, factor * task.gradient(request.models[claimed], data))


def test_other_numbers_can_be_lies_as_well_and_are_checked_as_ever(monkeypatch, tmp_path):
    own = ["attack=none", f"attack._target_={__name__}.ManyExamples", "+attack.clients=[2]"]
    seen, _, _ = exchanges(monkeypatch, tmp_path, *own)
    assert [replies.clients.tolist() for _, replies in seen] == [[0, 1, 3, 4, 5, 6, 7]] * 3
