"""Turned MNIST as IFCA's authors have it (Ghosh et al. 2020), and with Byzantine clients."""

from collections.abc import Sequence
from dataclasses import replace

from tagma.bench.cells import Cell
from tagma.bench.reproduce.experiment import Experiment
from tagma.bench.reproduce.rival_table import ALONE, OURS, Condition, Rivals, algorithms
from tagma.errors import TagmaError
from tagma.override import key_of

_EVERYBODY = algorithms(k=4, beta=0.3, quantile=0.2)
_IN_COMPANY = {name: own for name, own in _EVERYBODY.items() if name != ALONE}
_THEIRS = "m = 1200, n = 200, 300 rounds"
_NO_ATTACK = Condition(
    ("attack=none",),
    _EVERYBODY,
    says={
        "IFCA": f"0.9525 ({_THEIRS})",
        "FedAvg": f"0.8973 ({_THEIRS})",
        ALONE: f"0.8005 ({_THEIRS})",
    },
)
_FIFTH = "attack.fraction=0.2"
_COMMON = (
    "task=rotated_mnist", "task.clusters=4", "task.samples=200", "model.hidden=[200]",
    "training=default", "optimiser.local_steps=10", "optimiser.step=0.1",
    "evaluate_every=0", "oracle=false",
)  # fmt: skip
TABLE = Rivals(
    name="ifca",
    about="turned MNIST, as IFCA has it",
    common=(*_COMMON, "task.clients=40", "rounds=30"),
    conditions={
        "no attack": _NO_ATTACK,
        "sign flip": Condition(("attack=sign_flip", "attack.scale=4", _FIFTH), _IN_COMPANY),
        "label flip": Condition(("attack=label_flip", _FIFTH), _IN_COMPANY),
        "alie": Condition(("attack=alie", _FIFTH), _IN_COMPANY),
    },
    score="accuracy",
    allowed=0.005,
    allowed_to_oracle=0.015,
    trials=1,
    notes="""\
A perceptron of 784-200-10; in a round 10 steps of 0.1 on all examples of a client, as theirs. By
default 40 clients of 200 images and 30 rounds, which end in minutes: accuracies are those of so few
images and steps, to be compared with each other only. Their size is task.clients=1200 rounds=300;
--full is task.clients=1200 rounds=200 for ours and IFCA, which take some two hours on 2 cores.
Under attack a fifth of the clients is Byzantine; a flip sends minus four times the update. Accuracy
of the honest clients on the 10,000 test images as their cluster sees them. IFCA is told K = 4,
trimmed means drop 30 % from each side, threshold is told the share of honest clients in a cluster;
the oracle knows the clusters and has no Byzantine clients. It holds if ours is in every trial at
most 0.005 below, 0.015 below the oracle.""",
)
_FULL = replace(
    TABLE,
    common=(*_COMMON, "task.clients=1200", "rounds=200"),
    conditions={
        "no attack": replace(
            _NO_ATTACK, algorithms={name: _EVERYBODY[name] for name in (OURS, "IFCA")}
        )
    },
)


def _with_data(experiment: Experiment) -> Experiment:
    """The same, which asks for the data before anything else."""

    def cells(trials: int, seed: int, overrides: Sequence[str]) -> Sequence[Cell]:
        if not any(key_of(text) == "task.data" for text in overrides):
            raise TagmaError(
                "task.data=FOLDER: is missing, the folder of MNIST's four files "
                "(train-images-idx3-ubyte ..., also .gz), such as MNIST/raw of what "
                "torchvision.datasets.MNIST(root, download=True) makes"
            )
        return experiment.cells(trials, seed, overrides)

    return replace(experiment, cells=cells)


EXPERIMENT = replace(_with_data(TABLE.experiment()), full=_with_data(_FULL.experiment()))
