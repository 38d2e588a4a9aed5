"""A task that learns from examples: data of any origin, and a model that is chosen apart from them.

What `images` and `table` have in common. The data say who holds what (`tagma.tasks.data`), the
model says what it makes of it (`tagma.tasks.models`).
"""

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.layout import Named
from tagma.tasks.data.origin import Origin
from tagma.tasks.data.spread import Pair
from tagma.tasks.models.model import Model, Problem, measured
from tagma.tasks.stack import Stack
from tagma.tasks.task import Better, Data, Truth
from tagma.tasks.torch_module import TorchModule

if TYPE_CHECKING:
    from torch import nn

ModelMaker = Callable[[Problem], Model]
"""From a problem to the model that the settings choose."""


class Supervised:
    """Examples that clients hold, and a model."""

    def __init__(
        self,
        origin: Origin,
        holding: Mapping[str, Any],
        model: ModelMaker,
        *,
        server_samples: int = 0,
    ) -> None:
        self._origin, self._held_out = origin, holding["held_out"]
        self._spread, self.preparation = origin.spread(holding)
        self._problem = self.preparation.problem
        self._model = model(self._problem)
        self._server_samples = server_samples
        self._tests: dict[int, Data] = {}
        self._elsewhere: dict[str, Supervised] = {}
        self.clients, self.clusters = self._spread.count, self._spread.k
        self.metrics: Mapping[str, Better] = self._problem.metrics
        self.buffers = self._model.buffers
        self.server_data()  # if there are enough
        self.shape = self._problem.shape
        fractions = len(self.shape) == 3 or origin.scaling == "unit"
        self.span = (0.0, 1.0) if fractions else (-3.0, 3.0)
        if self._problem.kind == "classification":
            self.classes = self._problem.outputs  # only tasks that have some have the attribute
        if self._model.least_squares:
            self.least_squares = True  # only tasks that are have the attribute

    def with_data(self, path: str) -> "Supervised":
        """The same task where every client holds this file or folder, as a deployed node does."""
        if path not in self._elsewhere:
            found = copy(self)
            found._spread = self._origin.files(self.clients, self._held_out, path)
            found._tests = {}
            self._elsewhere[path] = found
        return self._elsewhere[path]

    @property
    def stackable(self) -> bool:
        """Whether the model can do many clients at once."""
        return self._model.stackable

    @cached_property
    def _truth(self) -> Truth:
        return Truth(labels=self._spread.labels)

    def truth(self) -> Truth:
        """The cluster of every client, where clusters are planted; nobody knows the best models."""
        return self._truth

    def initial(self) -> Named:
        """The model that everybody begins with."""
        return self._model.initial()

    def train(self, client: int) -> Data:
        """What a client trains on."""
        return self._data(self._spread.train(client))

    def test(self, client: int) -> Data:
        """What a client's model is tested on: one read-only object for all who are tested alike."""
        shared = self._spread.tested_with(client)
        if shared is None:
            return self._data(self._spread.test(client))
        if shared not in self._tests:
            data = self._data(self._spread.test(client))
            data.inputs.setflags(write=False)
            data.targets.setflags(write=False)
            self._tests[shared] = data
        return self._tests[shared]

    def server_data(self) -> Data | None:
        """Examples of the server's own, as cluster 0 sees them."""
        if not self._server_samples:
            return None
        return self._data(self._spread.of_server(self._server_samples))

    def _data(self, pair: Pair) -> Data:
        return Data(self.as_inputs(pair[0]), pair[1])

    def as_inputs(self, prepared: NDArray[Any]) -> NDArray[Any]:
        """Inputs that are scaled, as the model takes them."""
        return self._model.inputs(prepared)

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss."""
        return self.evaluate(model, data)["loss"]

    def losses(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        return self._model.losses(models, stack)

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss."""
        return self.step(model, {}, data)[0]

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        return self._model.gradients(models, stack)

    def step(self, model: Array, buffers: Named, data: Data) -> tuple[Array, Named]:
        """The gradient of a batch, and the buffers after it."""
        return self._model.step(model, buffers, data)

    def evaluate(self, model: Array, data: Data) -> dict[str, float]:
        """Every metric."""
        return self.evaluate_with(model, {}, data)

    def evaluate_with(self, model: Array, buffers: Named, data: Data) -> dict[str, float]:
        """Every metric of a model with buffers."""
        if not len(data):
            return dict.fromkeys(self.metrics, float("nan"))
        outputs = self.predict(model, buffers, data.inputs)
        found = dict(measured(self._problem, outputs, data.targets))
        found["loss"] = self._model.loss_of(outputs, data.targets)
        return found

    def predict(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """Scores of the classes, shape (n, classes), or numbers, shape (n,)."""
        return self._model.outputs(model, buffers, inputs)

    def loaded(self, model: Array, buffers: Named) -> "nn.Module":
        """A torch module with these arrays; a `SettingError` if the model is none."""
        if not isinstance(self._model, TorchModule):
            name = type(self._model).__name__
            raise SettingError("model", name, "is written in NumPy and is no torch module")
        return self._model.loaded(model, buffers)

    def state_dict(self, model: Array, buffers: Named) -> dict[str, NDArray[Any]]:
        """A model as a torch module loads it."""
        return self._model.state_dict(model, buffers)

    def opposite(self, targets: NDArray[Any]) -> NDArray[Any]:
        """The last class instead of the first, and so on; numbers with the other sign."""
        if self._problem.kind == "regression":
            return -targets
        return self._problem.outputs - 1 - targets

    def warnings(self) -> list[str]:
        """What a user should know of the data."""
        return self._spread.notices
