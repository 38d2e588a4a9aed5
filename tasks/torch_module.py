"""Tasks whose model is a torch module: any layers, any shapes, buffers included.

    class Net(TorchModule):
        def module(self):
            return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

The model's arrays are the module's state_dict, by name; a parameter that several names share has
the first of them only. Its first weights follow from the task's seed. Loss and gradient are those
of the module in training mode, `evaluate` uses evaluation mode. The module itself is never
changed: parameters and buffers are put in for one call, as views of one vector. What is random in
it, such as dropout, is drawn from the model and the batch, so that a gradient can be repeated;
torch's own random state stays as it was.

Parameters that are frozen (`requires_grad_(False)`) have the gradient 0. A gradient costs about
three losses, and twice the time of torch alone where the model is tiny. Evaluation takes
`EXAMPLES_AT_ONCE`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.layout import Layout, Named
from tagma.rng import stream
from tagma.tasks.stack import Stack, Stackable
from tagma.tasks.task import Better, Data, Task, layout_of
from tagma.tasks.torch_loss import device_of, torch_on_one_thread
from tagma.tasks.torch_stack import in_parts, some_examples, vmap_works

if TYPE_CHECKING:
    from torch import Tensor, nn

EXAMPLES_AT_ONCE = 1024


class TorchModule(ABC):
    """Base of such tasks, a classification unless told otherwise; the data are theirs to write."""

    metrics: Mapping[str, Better] = {"accuracy": "high", "loss": "low"}
    seed: int
    device: str = "cpu"
    """cpu | cuda | auto: a GPU if there is one."""

    @abstractmethod
    def module(self) -> "nn.Module":
        """A new module; torch's random numbers are seeded when it is called."""

    def torch_loss(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The mean loss of the module's outputs: the cross-entropy of classes."""
        return torch_on_one_thread().nn.functional.cross_entropy(outputs, targets)

    def torch_metrics(self, outputs: "Tensor", targets: "Tensor") -> "dict[str, Tensor]":
        """The metrics beside the loss: the share that is classified well."""
        return {"accuracy": (outputs.argmax(dim=1) == targets).double().mean()}

    def initial(self) -> Named:
        """The state_dict of the module as arrays."""
        return {name: array.copy() for name, array in _numpy(self._arrays()).items()}

    @cached_property
    def buffers(self) -> tuple[str, ...]:
        """The names of arrays that training changes and no gradient does."""
        return tuple(self._first_buffers)

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss, in evaluation mode."""
        return float(self.evaluate(model, data)["loss"])

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss, in training mode, with the initial buffers."""
        return self.step(model, {}, data)[0]

    def evaluate(self, model: Array, data: Data) -> dict[str, float]:
        """Loss and metrics with the initial buffers."""
        return self.evaluate_with(model, {}, data)

    def step(self, model: Array, buffers: Named, data: Data) -> tuple[Array, Named]:
        """The gradient of a batch, and the buffers after it; those not given are the initial ones.

        Of a single example no statistics can be taken: a module with buffers then uses those that
        it has.
        """
        torch = torch_on_one_thread()
        point = self._tensor(model).requires_grad_()
        arrays = self._parameters(point) | self._buffers(buffers)
        self._module.train(len(data) > 1 or not self.buffers)
        with self._randomness(crc32(data.inputs.tobytes(), crc32(_sample(model).tobytes()))):
            outputs = self._call(arrays, self._numbers(data.inputs))
            loss = self.torch_loss(outputs, self._numbers(data.targets))
        (gradient,) = torch.autograd.grad(loss, point)
        after = {name: arrays[name] for name in self.buffers}
        return gradient.cpu().numpy(), _numpy(after)

    def evaluate_with(self, model: Array, buffers: Named, data: Data) -> dict[str, float]:
        """Loss and metrics, in evaluation mode; nobody knows how good it is on nothing."""
        if not len(data):
            return dict.fromkeys(self.metrics, float("nan"))
        torch = torch_on_one_thread()
        with torch.inference_mode():
            outputs, targets = self._said(model, buffers, data.inputs), self._numbers(data.targets)
            found = self.torch_metrics(outputs, targets)
            found["loss"] = self.torch_loss(outputs, targets)
        return {name: float(found[name]) for name in self.metrics}

    def outputs(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """What the module makes of inputs, in evaluation mode."""
        with torch_on_one_thread().inference_mode():
            return self._said(model, buffers, inputs).cpu().numpy()

    def predict(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """The same, by the name that tasks have for it."""
        return self.outputs(model, buffers, inputs)

    def loaded(self, model: Array, buffers: Named) -> "nn.Module":
        """A module of its own with these arrays, in evaluation mode, on the processor."""
        torch = torch_on_one_thread()
        module = deepcopy(self._module).cpu()
        arrays = self.state_dict(model, buffers).items()
        module.load_state_dict({name: torch.tensor(array) for name, array in arrays})
        return module.eval()

    def state_dict(self, model: Array, buffers: Named) -> dict[str, NDArray[Any]]:
        """All arrays as the module's `load_state_dict` takes them, second names included."""
        named = self._layout.named(model, {**_numpy(self._first_buffers), **buffers})
        names = {own.data_ptr(): name for name, own in reversed(self._arrays().items())}
        return {
            name: named[name if name in named else names[own.data_ptr()]]
            for name, own in self._module.state_dict().items()
        }

    @cached_property
    def stackable(self) -> bool:
        """Whether torch can do it for many clients at once: no buffers, nothing random."""
        task = cast(Stackable, self)
        return not self.buffers and vmap_works(task, some_examples(task))

    def gradients(self, models: Array, stack: Stack) -> Array:
        """`gradient` of every client."""
        func = torch_on_one_thread().func
        self._module.train()
        together = func.vmap(func.grad(self._loss_at))
        found = np.zeros_like(models)
        return in_parts(together, self.gradient, self._tensor, models, stack, found)

    def losses(self, models: Array, stack: Stack) -> Array:
        """`loss` of every client."""
        torch = torch_on_one_thread()
        self._module.eval()
        with torch.no_grad():
            found, together = np.full(len(models), np.nan), torch.func.vmap(self._loss_at)
            return in_parts(together, self.loss, self._tensor, models, stack, found)

    def _loss_at(self, point: "Tensor", inputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The mean loss of a module without buffers."""
        return self.torch_loss(self._call(self._parameters(point), inputs), targets)

    @cached_property
    def _module(self) -> "nn.Module":
        seed = int(stream(self.seed, "initial model").integers(2**63))
        with self._randomness(seed):
            return self.module().to(self._device)

    @cached_property
    def _device(self) -> Any:
        return torch_on_one_thread().device(device_of(self.device))

    @cached_property
    def _layout(self) -> Layout:
        task: Task = self  # type: ignore[assignment]  # the rest of it is the subclass's
        return layout_of(task)

    @cached_property
    def _first_buffers(self) -> "dict[str, Tensor]":
        own = dict(self._module.named_buffers())
        return {name: array for name, array in self._arrays().items() if name in own}

    @cached_property
    def _frozen(self) -> frozenset[str]:
        named = self._module.named_parameters()
        return frozenset(name for name, parameter in named if not parameter.requires_grad)

    def _arrays(self) -> "dict[str, Tensor]":
        """The state_dict without second names."""
        own = dict(self._module.named_parameters()) | dict(self._module.named_buffers())
        return {name: array for name, array in self._module.state_dict().items() if name in own}

    def _parameters(self, point: "Tensor") -> "dict[str, Tensor]":
        """The parameters as views of one vector."""
        torch = torch_on_one_thread()
        parts = self._layout.parameters
        pieces = torch.split(point, [part.size for part in parts])
        return {
            part.name: (piece.detach() if part.name in self._frozen else piece)
            .view(part.shape)
            .to(getattr(torch, part.dtype))
            for part, piece in zip(parts, pieces, strict=True)
        }

    def _buffers(self, given: Named) -> "dict[str, Tensor]":
        """Copies of the buffers, which a call may change."""
        return {
            name: self._tensor(given[name]) if name in given else own.clone()
            for name, own in self._first_buffers.items()
        }

    def _said(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> "Tensor":
        """The module's outputs in evaluation mode, so many inputs at a time."""
        self._module.eval()
        arrays = self._parameters(self._tensor(model)) | self._buffers(buffers)
        parts = [inputs[i : i + EXAMPLES_AT_ONCE] for i in range(0, len(inputs), EXAMPLES_AT_ONCE)]
        return torch_on_one_thread().cat([self._call(arrays, self._numbers(p)) for p in parts])

    def _call(self, arrays: "dict[str, Tensor]", inputs: "Tensor") -> "Tensor":
        functional_call = torch_on_one_thread().func.functional_call
        outputs: Tensor = functional_call(self._module, arrays, (inputs,))
        return outputs

    def _numbers(self, array: NDArray[Any]) -> "Tensor":
        """Inputs or targets, in the precision of the model."""
        precise = array.dtype.kind == "f"
        return self._tensor(array.astype(self._layout.dtype) if precise else array)

    def _tensor(self, array: Array) -> "Tensor":
        """A copy on the device."""
        return torch_on_one_thread().tensor(array, device=self._device)

    @contextmanager
    def _randomness(self, seed: int) -> Iterator[None]:
        """Torch's random numbers follow from the seed; then they go on where they were."""
        torch = torch_on_one_thread()
        generators = [torch.default_generator]
        if self._device.type == "cuda":
            generators.append(torch.cuda.default_generators[torch.cuda.current_device()])
        states = [generator.get_state() for generator in generators]
        try:
            for generator in generators:
                generator.manual_seed(seed)
            yield
        finally:
            for generator, state in zip(generators, states, strict=True):
                generator.set_state(state)


def _numpy(tensors: "Mapping[str, Tensor]") -> Named:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _sample(model: Array) -> Array:
    """About a thousand entries, from the whole of the model."""
    return model[:: len(model) // 1024 + 1]
