"""What settings that are `auto` came to, so that a run can be repeated without them."""

from typing import Any

import numpy as np

from tagma.client.solvers.solution import takes_ridge
from tagma.exchange import SMOOTHNESS
from tagma.settings import Settings
from tagma.step_size import AUTO, step_of
from tagma.strategies.round_outcome import Round


def resolved_settings(settings: Settings, last: Round) -> dict[str, Any]:
    """By setting: the step of every model in the last round, and how many clients have a ridge.

    The step is None for a model that nobody replied to. Who has a ridge follows from how many
    examples clients say they have.
    """
    found: dict[str, Any] = {}
    replies = last.replies
    if settings.choice("optimiser").get("step") == AUTO:
        told = None if replies is None else replies.extras.get(SMOOTHNESS)
        found["optimiser.step"] = None
        if replies is not None and told is not None:
            which = last.which[np.searchsorted(last.clients, replies.clients)]
            found["optimiser.step"] = [
                step_of(told[which == model]) if (which == model).any() else None
                for model in range(len(last.models))
            ]
    if settings.choice("solver").get("ridge") == AUTO and replies is not None:
        few = takes_ridge(replies.examples, replies.vectors.shape[1])
        found["solver.ridge"] = {"clients": int(few.sum()), "of": len(replies)}
    return found
