"""The examples of several clients, and gradients and losses of all of them at once.

Where the loss is quadratic and clients have more examples than coefficients, gradients and losses
of all examples come from Gram matrices that are computed once (`tagma.tasks.least_squares_gram`);
else from the examples themselves (`tagma.tasks.stack`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from tagma.arrays import Array, Labels
from tagma.tasks.least_squares_gram import Quadratics, quadratics_of
from tagma.tasks.smoothness import smoothness
from tagma.tasks.stack import Stack, Stackable
from tagma.tasks.task import Data, layout_of

_BLOCK = 16 * 2**20
"""Bytes of examples that are stacked at a time where they are not kept so."""


class StackedExamples:
    """What clients have to train on; rows are clients.

    Examples that are stacked are held twice. Without `twice` they are stacked anew whenever they
    are needed, some clients at a time, and Gram matrices are not held beside them.
    """

    def __init__(
        self,
        task: Stackable,
        data: Sequence[Data],
        quadratics: Quadratics | None = None,
        *,
        twice: bool = True,
        smoothness: Callable[[], Array] | None = None,
    ) -> None:
        self.data = data
        self._twice = twice
        self._task = task
        self._given = quadratics
        self._smoothness = smoothness

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def counts(self) -> Labels:
        """How many examples each client has, shape (m,)."""
        return np.array([len(data) for data in self.data], dtype=np.int64)

    @cached_property
    def stack(self) -> Stack:
        """The examples themselves."""
        return Stack.of(self.data, layout_of(self._task).dtype)

    @cached_property
    def quadratics(self) -> Quadratics | None:
        """What the gradients of quadratic losses need; None where they need the examples."""
        if not self._twice:
            return None
        return self._given or quadratics_of(self._task, self.data)

    @cached_property
    def smoothness(self) -> Array:
        """How fast each client's gradient can change, shape (m,)."""
        if self._smoothness is not None:
            return self._smoothness()
        return np.array([smoothness(self._task, data) for data in self.data])

    def gradients(self, models: Array, order: Labels | None = None) -> Array:
        """Every client's gradient at its own model, a row of (m, d).

        Of all examples, or of the batch whose rows `order` names, shape (m, b), -1 for padding.
        """
        if order is None and self.quadratics is not None:
            return self.quadratics.gradients(models)
        parts = [
            self._task.gradients(models[rows], stack if order is None else stack.batch(order[rows]))
            for rows, stack in self._stacks()
        ]
        found = np.concatenate(parts) if len(parts) > 1 else parts[0]
        for row in self._without_examples if order is None else ():
            found[row] = self._task.gradient(models[row], self.data[row])
        return found

    def losses(self, models: Array) -> Array:
        """Every client's loss at its own model, shape (m,)."""
        if self.quadratics is not None:
            return self.quadratics.losses(models)
        parts = [self._task.losses(models[rows], stack) for rows, stack in self._stacks()]
        found = np.concatenate(parts) if len(parts) > 1 else parts[0]
        for row in self._without_examples:
            found[row] = self._task.loss(models[row], self.data[row])
        return found

    def _stacks(self) -> Iterator[tuple[slice, Stack]]:
        """All clients, stacked together or some at a time."""
        if self._twice:
            yield slice(None), self.stack
            return
        one = max(1, self.data[0].inputs[:1].nbytes)
        size = max(1, _BLOCK // (one * max(1, int(self.counts.max()))))
        for first in range(0, len(self), size):
            rows = slice(first, first + size)
            yield rows, Stack.of(self.data[rows], layout_of(self._task).dtype)

    @cached_property
    def _without_examples(self) -> list[int]:
        """Clients for whom it is the task's to say what nothing amounts to."""
        return np.flatnonzero(self.counts == 0).tolist()

    def only(self, rows: Labels | slice) -> "StackedExamples":
        """Those of some clients."""
        data = self.data[rows] if isinstance(rows, slice) else [self.data[row] for row in rows]
        if len(data) == len(self):
            return self
        quadratics = None if self.quadratics is None else self.quadratics.take(rows)
        chosen = StackedExamples(
            self._task, data, quadratics, twice=self._twice,
            smoothness=lambda: self.smoothness[rows],
        )  # fmt: skip
        if "stack" in vars(self):
            vars(chosen)["stack"] = self.stack.take(rows)
        return chosen

    def replaced(self, changed: Mapping[int, Data]) -> "StackedExamples":
        """The same with other examples of some clients, by their rows."""
        data = [changed.get(row, own) for row, own in enumerate(self.data)]
        others = quadratics_of(self._task, list(changed.values()))
        quadratics = None
        if self.quadratics is not None and others is not None:
            quadratics = self.quadratics.replaced(list(changed), others)

        def smoothness_of_all() -> Array:
            found = self.smoothness.copy()
            found[list(changed)] = [smoothness(self._task, own) for own in changed.values()]
            return found

        return StackedExamples(
            self._task, data, quadratics, twice=self._twice, smoothness=smoothness_of_all
        )
