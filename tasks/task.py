"""What a learning problem offers to clients and to the server's evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from numpy.typing import NDArray

from tagma.arrays import Array, Labels
from tagma.kept import kept
from tagma.layout import Layout, Named

Better = Literal["low", "high"]
"""Which values of a metric are good."""


@dataclass(frozen=True)
class Data:
    """The examples of one client: n inputs, of any shape each, and their n targets."""

    inputs: NDArray[Any]
    targets: NDArray[Any]

    def __len__(self) -> int:
        return len(self.targets)

    def half(self, which: int) -> "Data":
        """Every second example, from the first or the second on; 0, or of less than two: all."""
        if not which or len(self) < 2:
            return self
        return self.dealt(which - 1, 2)

    def dealt(self, part: int, parts: int) -> "Data":
        """One of so many parts: every `parts`-th example, from the number `part` on."""
        return Data(self.inputs[part::parts], self.targets[part::parts])


@dataclass(frozen=True)
class Truth:
    """What a task knows of its clients and no strategy may see."""

    labels: Labels
    """The cluster that each client's data come from, shape (m,); -1 for none, or where nobody knows
    of any."""
    centres: Array | None = None
    """The risk minimiser of each cluster, shape (K, d), where there is one that is known."""

    def known_centres(self) -> Array:
        """The centres of a task that has them."""
        assert self.centres is not None
        return self.centres

    @property
    def knows_clusters(self) -> bool:
        """Whether there are clusters that are known, not only who is honest."""
        return bool((self.labels >= 0).any())

    @property
    def k(self) -> int:
        """The number of true clusters."""
        return len(self.centres) if self.centres is not None else int(self.labels.max()) + 1


class Task(Protocol):
    """A learning problem: data, a model and its loss.

    Its model is any set of named arrays, such as a torch module's state_dict. Everywhere but in
    `initial` it is one vector of its parameters (`tagma.layout`), in the model's own precision.

    A task that writes its loss only, in torch, gets `loss` and `gradient` from
    `tagma.tasks.torch_loss.TorchLoss`; a torch module as its model is
    `tagma.tasks.torch_module.TorchModule`.

    Everything a client needs comes from its own random stream: asking for the data of one client
    never makes those of another.
    """

    clients: int
    clusters: int

    def __hash__(self) -> int:
        """Parts of it are computed once and kept."""

    metrics: Mapping[str, Better]
    """What `evaluate` measures, and which way is good; the most telling one comes first."""

    def initial(self) -> Named:
        """The arrays of the model that every client begins with."""

    def train(self, client: int) -> Data:
        """The training examples of one client; clients may have different numbers of them."""

    def test(self, client: int) -> Data:
        """Held-out examples for the client's model; with planted clusters those of its cluster."""

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss of the model."""

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss over these examples, all of a client's or a batch."""

    def evaluate(self, model: Array, data: Data) -> Mapping[str, float]:
        """Every metric of the model on the data, by the names of `metrics`."""

    def truth(self) -> Truth | None:
        """The true clusters, or None where nobody knows them."""

    def warnings(self) -> list[str]:
        """What a user should know about these settings before trusting the result."""


@kept(maxsize=32)
def layout_of(task: Task) -> Layout:
    """How the arrays of a task's model are one vector."""
    return Layout.of(task.initial(), getattr(task, "buffers", ()))


def true_clusters(task: Task) -> Truth | None:
    """The truth, if clusters are part of it."""
    truth = task.truth()
    return truth if truth is not None and truth.knows_clusters else None


@runtime_checkable
class LeastSquares(Task, Protocol):
    """A task whose loss is (<x, w> - y)^2 / 2, so that its local models have a closed form."""

    least_squares: Literal[True]


@runtime_checkable
class SquaredDistance(Task, Protocol):
    """A task whose loss is ||w - x||^2 / 2, so that its local models are means."""

    squared_distance: Literal[True]
    dim: int
    """The number of coordinates."""


@runtime_checkable
class WithCoefficients(Task, Protocol):
    """A task whose data follow a coefficient vector, which an attack may replace."""

    dim: int
    """The number of coefficients."""

    def data_with(self, client: int, coefficients: Array) -> Data:
        """The training examples of one client, had its cluster other coefficients."""


@runtime_checkable
class WithTargets(Task, Protocol):
    """A task that predicts targets, which have an opposite."""

    def opposite(self, targets: Array) -> Array:
        """The other class, or the number with the other sign."""


@runtime_checkable
class WithClasses(WithTargets, Protocol):
    """A task that tells classes apart, 0, 1, ..., by scores that its models give to inputs."""

    classes: int
    """How many there are."""
    shape: tuple[int, ...]
    """Of one input; models may be given it as one vector."""
    span: tuple[float, float]
    """Between which numbers inputs usually are."""

    def predict(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """Scores of the classes, shape (n, classes)."""


@runtime_checkable
class WithBuffers(Task, Protocol):
    """A task whose model may have buffers, which training changes and no gradient does.

    Whether it has some, `layout_of(task).buffers` says.
    """

    @property
    def buffers(self) -> tuple[str, ...]:
        """Their names."""

    def step(self, model: Array, buffers: Named, data: Data) -> tuple[Array, Named]:
        """The gradient of a batch, and the buffers after it."""

    def evaluate_with(self, model: Array, buffers: Named, data: Data) -> Mapping[str, float]:
        """`evaluate` with these buffers."""


@runtime_checkable
class WithStateDict(Task, Protocol):
    """A task whose models have names of their own, such as those of a torch module."""

    def state_dict(self, model: Array, buffers: Named) -> Named:
        """All arrays of a model as the module loads them."""


@runtime_checkable
class WithScaling(Task, Protocol):
    """A task whose clients hold inputs in other units than whoever brings new ones."""

    def prepared(self, points: Array) -> Array:
        """New inputs in the units of the clients' data."""


@runtime_checkable
class WithOwnData(Task, Protocol):
    """A task in which a deployed node may have a file or folder of its own."""

    def with_data(self, path: str) -> Task:
        """The same task where every client holds that."""


@runtime_checkable
class WithServerData(Task, Protocol):
    """A task in which the server has examples of its own."""

    def server_data(self) -> Data | None:
        """They; None where these settings give it none."""
