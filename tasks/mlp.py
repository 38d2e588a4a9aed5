"""Classification by a multilayer perceptron, loss and gradient written in NumPy.

    a_0 = x,   a_i = max(W_i a_{i-1} + b_i, 0),   scores = W_L a_{L-1} + b_L,

and the loss is the cross-entropy of the scores' softmax. Arrays are named as in the state_dict of
`torch.nn.Sequential(Linear, ReLU, Linear, ...)` and drawn as torch draws them: uniform within
1 / sqrt(inputs of the layer). Single precision.

A gradient costs three matrix products per layer, O(n d). For small models that is several times
faster than automatic differentiation, and torch is not imported.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from tagma.arrays import Array, Labels
from tagma.layout import Named
from tagma.rng import stream
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

    def evaluate(self, model: Array, data: Data) -> dict[str, float]:
        """The share of examples whose class has the highest score, and the mean cross-entropy."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores, normaliser = _log_softmax(list(self._activations(model, data.inputs))[-1])
            own = scores[np.arange(len(data)), _classes(data)]
            return {
                "accuracy": float((scores.argmax(axis=1) == data.targets).mean()),
                "loss": float((normaliser - own).mean(dtype=np.float64)),
            }

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean cross-entropy, by backpropagation."""
        gradient = np.empty_like(model)
        with np.errstate(over="ignore", invalid="ignore"):
            *activations, scores = self._activations(model, data.inputs)
            scores, normaliser = _log_softmax(scores)
            errors = np.exp(scores - normaliser[:, None])
            errors[np.arange(len(data)), _classes(data)] -= 1
            errors /= len(data)
            layers = zip(self._layers(model), self._layers(gradient), activations, strict=True)
            for (weights, _), (by_weights, by_biases), inputs in reversed(list(layers)):
                np.matmul(errors.T, inputs, out=by_weights)
                errors.sum(axis=0, out=by_biases)
                if inputs is not activations[0]:
                    errors = (errors @ weights) * (inputs > 0)
        return gradient

    def _activations(self, model: Array, inputs: Array) -> Iterator[Array]:
        """What goes into every layer, and the scores that come out of the last."""
        values = inputs
        for layer, (weights, biases) in enumerate(self._layers(model)):
            yield values if layer == 0 else (values := np.maximum(values, 0))
            values = values @ weights.T + biases
        yield values

    def _layers(self, model: Array) -> Iterator[tuple[Array, Array]]:
        """Weights and biases of every layer, without copying."""
        start = 0
        for inputs, outputs in pairwise(self.widths):
            middle = start + outputs * inputs
            end = middle + outputs
            yield model[start:middle].reshape(outputs, inputs), model[middle:end]
            start = end


def _log_softmax(scores: Array) -> tuple[Array, Array]:
    """Scores whose largest is 0, and the logarithm of the sum of their exponentials."""
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores, np.log(np.exp(scores).sum(axis=1))


def _classes(data: Data) -> Labels:
    return data.targets.astype(np.int64, copy=False)
