"""What the algorithm receives in a run under attack."""

from tagma.attacks.adversary import adversary_of
from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.settings import compose, join_overrides
from tagma.strategies.flower import ThreeStage
from tests.conftest import SMALL


class Recording:
    """An algorithm that remembers the updates it was given."""

    work = "gradient"

    def __init__(self, algorithm):
        self.algorithm = algorithm
        self.given = []

    def begin(self, clients, local_models):
        self.given.append((clients, local_models))
        return self.algorithm.begin(clients, local_models)

    def advance(self, state, clients, updates):
        self.given.append((clients, updates))
        return self.algorithm.advance(state, clients, updates)


def updates_under(monkeypatch, tmp_path, attack, *more):
    """The clients and updates of every round, and who is Byzantine."""
    from tagma.server import federation

    recordings = []

    def strategy(algorithm, **keywords):
        recordings.append(Recording(algorithm))
        return ThreeStage(recordings[-1], **keywords)

    monkeypatch.setattr(federation, "ThreeStage", strategy)
    settings = compose([*SMALL, "rounds=2", *attack, *more])
    grid = InProcessGrid(client_app, 20, join_overrides(settings.overrides))
    federation.run_federation(grid, settings, tmp_path, [])
    monkeypatch.setattr(federation, "ThreeStage", ThreeStage)
    return recordings[0].given, adversary_of(settings).byzantine
