"""A multilayer perceptron of any depth, gradient written in NumPy; without hidden layers, softmax.

    a_0 = x,   a_i = max(W_i a_{i-1} + b_i, 0),   outputs = W_L a_{L-1} + b_L.

For classes the loss is the cross-entropy of the outputs' softmax, for numbers half the squared
difference. Arrays are named as in the state_dict of `torch.nn.Sequential(Linear, ReLU, Linear,
...)` and drawn as torch draws them: uniform within 1 / sqrt(inputs of the layer). Single precision.

A gradient costs three matrix products per layer, O(n d). For small models that is several times
faster than automatic differentiation, and torch is not imported. All arithmetic is written for one
model, arrays (n, width), or many with examples of their own, arrays (m, n, width): the gradients of
many small models cost a fraction of the calls.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from tagma.arrays import Array, Labels
from tagma.layout import Layout, Named
from tagma.rng import stream
from tagma.tasks.models.model import Problem
from tagma.tasks.stack import Stack
from tagma.tasks.task import Data


class Perceptron:
    """A perceptron for a problem; `hidden` are the units of each hidden layer."""

    least_squares = False
    stackable = True
    buffers: tuple[str, ...] = ()

    def __init__(self, *, problem: Problem, seed: int, hidden: list[Annotated[int, Ge(1)]]) -> None:
        self.widths = prod(problem.shape), *hidden, problem.outputs
        self._classes = problem.kind == "classification"
        self._seed = seed
        self._layout = Layout.of(self.initial())

    def inputs(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Each input as one vector of single precision."""
        return raw.reshape(len(raw), self.widths[0]).astype(np.float32, copy=False)

    def initial(self) -> Named:
        """Random weights, the same for every client."""
        random = stream(self._seed, "initial model")
        named = {}
        for layer, (inputs, outputs) in enumerate(pairwise(self.widths)):
            bound = inputs**-0.5
            for name, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
                values = random.uniform(-bound, bound, shape)
                named[f"{2 * layer}.{name}"] = values.astype(np.float32)
        return named

    def outputs(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """Scores of the classes, shape (n, classes), or numbers, shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._activations(model, inputs)[-1]
        return found if self._classes else found[..., 0]

    def loss_of(self, outputs: Array, targets: NDArray[Any]) -> float:
        """The mean loss."""
        own = outputs.copy() if self._classes else outputs[..., None]
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self._losses(own, targets).mean(dtype=np.float64))

    def losses(self, models: Array, stack: Stack) -> Array:
        """The mean loss of every client."""
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = self._activations(models, stack.inputs)[-1]
            return stack.means(self._losses(outputs, stack.targets))

    def step(self, model: Array, buffers: Named, data: Data) -> tuple[Array, Named]:
        """The gradient of the mean loss, by backpropagation."""
        with np.errstate(over="ignore", invalid="ignore"):
            activations, errors = self._forward(model, data)
            errors /= len(data)
            return self._backward(model, activations, errors), {}

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The same for every client, all in one matrix product after the other."""
        with np.errstate(over="ignore", invalid="ignore"):
            activations, errors = self._forward(models, stack)
            errors *= stack.weights[..., None]
            return self._backward(models, activations, errors)

    def state_dict(self, model: Array, buffers: Named) -> dict[str, NDArray[Any]]:
        """Weights and biases."""
        return self._layout.named(model)

    def _losses(self, outputs: Array, targets: NDArray[Any]) -> Array:
        """The loss of every example; the outputs are used up."""
        if not self._classes:
            return np.square(outputs[..., 0] - targets) / 2
        scores, normaliser = _log_softmax(outputs)
        own = np.take_along_axis(scores, _whole(targets)[..., None], axis=-1)[..., 0]
        return normaliser - own

    def _forward(self, model: Array, data: Data | Stack) -> tuple[list[Array], Array]:
        """What goes into every layer, and the derivatives of each example's loss by its outputs."""
        *activations, errors = self._activations(model, data.inputs)
        if not self._classes:
            errors[..., 0] -= data.targets
            return activations, errors
        errors, normaliser = _log_softmax(errors)
        errors -= normaliser[..., None]
        np.exp(errors, out=errors)
        classes = _whole(data.targets).ravel()
        errors.reshape(-1, self.widths[-1])[np.arange(len(classes)), classes] -= 1
        return activations, errors

    def _backward(self, model: Array, activations: list[Array], errors: Array) -> Array:
        """The gradient of a sum of losses, from their derivatives by the outputs."""
        gradient = np.empty(model.shape, model.dtype)
        layers = zip(self._layers(model), self._layers(gradient), activations, strict=True)
        for (weights, _), (by_weights, by_biases), inputs in reversed(list(layers)):
            np.matmul(errors.swapaxes(-1, -2), inputs, out=by_weights)
            errors.sum(axis=-2, out=by_biases)
            if inputs is not activations[0]:
                errors = errors @ weights
                errors *= inputs > 0
        return gradient

    def _activations(self, model: Array, inputs: Array) -> list[Array]:
        """What goes into every layer, and what comes out of the last."""
        values = [inputs]
        for weights, biases in self._layers(model):
            if len(values) > 1:
                np.maximum(values[-1], 0, out=values[-1])
            scores = weights @ values[-1].swapaxes(-1, -2)  # a third faster than its transpose
            scores += biases[..., None]
            values.append(scores.swapaxes(-1, -2))
        values[-1] = np.ascontiguousarray(values[-1])
        return values

    def _layers(self, model: Array) -> Iterator[tuple[Array, Array]]:
        """Weights and biases of every layer, without copying; of one model or of many."""
        start = 0
        for inputs, outputs in pairwise(self.widths):
            middle = start + outputs * inputs
            end = middle + outputs
            weights = model[..., start:middle].reshape(*model.shape[:-1], outputs, inputs)
            yield weights, model[..., middle:end]
            start = end


def _log_softmax(scores: Array) -> tuple[Array, Array]:
    """Scores whose largest is 0, in place, and the logarithm of the sum of their exponentials."""
    scores -= scores.max(axis=-1, keepdims=True)
    return scores, np.log(np.exp(scores).sum(axis=-1))


def _whole(targets: NDArray[Any]) -> Labels:
    return targets.astype(np.int64, copy=False)
