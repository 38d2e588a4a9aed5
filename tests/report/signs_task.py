"""A task as neural ones are: its score is an accuracy, and nobody knows the best models."""

from collections.abc import Mapping

import numpy as np

from tagma.arrays import Array
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Better, Data, Truth


class Signs(MixtureRegression):
    """Regressions that are judged by the signs of what they predict."""

    metrics: Mapping[str, Better] = {"accuracy": "high", "loss": "low"}

    def evaluate(self, model: Array, data: Data) -> Mapping[str, float]:
        """The share of right signs, and the loss."""
        right = np.sign(data.inputs @ model) == np.sign(data.targets)
        return {"accuracy": float(right.mean()), "loss": self.loss(model, data)}

    def truth(self) -> Truth:
        """The clusters without their centres."""
        return Truth(labels=super().truth().labels)
