"""Classification by a multilayer perceptron, loss and gradient written in NumPy.

    a_0 = x,   a_i = max(W_i a_{i-1} + b_i, 0),   scores = W_L a_{L-1} + b_L,

and the loss is the cross-entropy of the scores' softmax. Arrays are named as in the state_dict of
`torch.nn.Sequential(Linear, ReLU, Linear, ...)` and drawn as torch draws them: uniform within
1 / sqrt(inputs of the layer). Single precision.

A gradient costs three matrix products per layer, O(n d). For small models that is several times
faster than automatic differentiation, and torch is not imported. All arithmetic is written for one
model, arrays (n, width), or many with examples of their own, arrays (m, n, width): the gradients of
many small models cost a fraction of the calls.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from tagma.arrays import Array, Labels
from tagma.layout import Named
from tagma.rng import stream
from tagma.tasks.stack import Stack
from tagma.tasks.task import Better, Data


class MLP:
    """Base of such tasks; data and truth are theirs to write."""

    metrics: Mapping[str, Better] = {"accuracy": "high", "loss": "low"}
    seed: int
    widths: tuple[int, ...]
    """Inputs, the units of every hidden layer, classes."""

    def initial(self) -> Named:
        """Random weights, the same for every client."""
        random = stream(self.seed, "initial model")
        named = {}
        for layer, (inputs, outputs) in enumerate(pairwise(self.widths)):
            bound = inputs**-0.5
            for name, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
                values = random.uniform(-bound, bound, shape)
                named[f"{2 * layer}.{name}"] = values.astype(np.float32)
        return named

    def loss(self, model: Array, data: Data) -> float:
        """The mean cross-entropy."""
        return self.evaluate(model, data)["loss"]

    def losses(self, models: Array, stack: Stack) -> Array:
        """The mean cross-entropy of every client."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores, normaliser = _log_softmax(self._activations(models, stack.inputs)[-1])
            own = np.take_along_axis(scores, _classes(stack)[..., None], axis=-1)[..., 0]
            return stack.means(normaliser - own)

    def evaluate(self, model: Array, data: Data) -> dict[str, float]:
        """The share of examples whose class has the highest score, and the mean cross-entropy."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores, normaliser = _log_softmax(self._activations(model, data.inputs)[-1])
            own = scores[np.arange(len(data)), _classes(data)]
            return {
                "accuracy": float((scores.argmax(axis=1) == data.targets).mean()),
                "loss": float((normaliser - own).mean(dtype=np.float64)),
            }

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean cross-entropy, by backpropagation."""
        with np.errstate(over="ignore", invalid="ignore"):
            activations, errors = self._forward(model, data)
            errors /= len(data)
            return self._backward(model, activations, errors)

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The same for every client, all in one matrix product after the other."""
        with np.errstate(over="ignore", invalid="ignore"):
            activations, errors = self._forward(models, stack)
            errors *= stack.weights[..., None]
            return self._backward(models, activations, errors)

    def _forward(self, model: Array, data: Data | Stack) -> tuple[list[Array], Array]:
        """What goes into every layer, and the derivatives of each example's loss by its scores."""
        *activations, scores = self._activations(model, data.inputs)
        errors, normaliser = _log_softmax(scores)
        errors -= normaliser[..., None]
        np.exp(errors, out=errors)
        classes = _classes(data).ravel()
        errors.reshape(-1, self.widths[-1])[np.arange(len(classes)), classes] -= 1
        return activations, errors

    def _backward(self, model: Array, activations: list[Array], errors: Array) -> Array:
        """The gradient of a sum of losses, from their derivatives by the scores."""
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
        """What goes into every layer, and the scores that come out of the last."""
        values = [inputs]
        for weights, biases in self._layers(model):
            if len(values) > 1:
                np.maximum(values[-1], 0, out=values[-1])
            values.append(values[-1] @ weights.swapaxes(-1, -2))
            values[-1] += biases[..., None, :]
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


def _classes(data: Data | Stack) -> Labels:
    return data.targets.astype(np.int64, copy=False)
