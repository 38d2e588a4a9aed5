"""What the algorithm receives in a run under attack."""

from tagma.attacks.adversary import adversary_of
from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.settings import compose, join_overrides
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL


class Recording:
    """An algorithm that remembers the updates it learnt from."""

    def __init__(self, algorithm):
        self.algorithm = algorithm
        self.given = []

    def __getattr__(self, name):
        return getattr(self.algorithm, name)

    def learn(self, state, request, replies):
        self.given.append((replies.clients, replies.vectors))
        return self.algorithm.learn(state, request, replies)


def updates_under(monkeypatch, tmp_path, attack, *more):
    """The clients and updates of every round, and who is Byzantine."""
    return updates_of(monkeypatch, tmp_path, [*SMALL, "rounds=2", *attack, *more])


def updates_of(monkeypatch, tmp_path, overrides):
    """The same for any federation."""
    from tagma.server import federation

    recordings, algorithm_of = [], federation.algorithm_of

    def recorded(settings):
        recordings.append(Recording(algorithm_of(settings)))
        return recordings[-1]

    settings = compose(overrides)
    grid = InProcessGrid(client_app, task_of(settings).clients, join_overrides(settings.overrides))
    with monkeypatch.context() as patch:
        patch.setattr(federation, "algorithm_of", recorded)
        federation.run_federation(grid, settings, tmp_path, [])
    return recordings[0].given, adversary_of(settings).byzantine
