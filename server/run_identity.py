"""What tells one run from another: all that its numbers follow from, as a digest."""

import json
from hashlib import sha256

from tagma.settings import Settings

MAY_CHANGE = (
    "engine", "rounds", "round_timeout", "quorum", "quorum_timeout", "start_timeout",
    "checkpoint_every", "oracle", "tracking", "live", "pause",
)  # fmt: skip
"""What may be set anew when a run is resumed."""
_OF_ONE_CALL = ("resume", "output", "overrides")
_PLACES = ("data", "dataset")
"""Of a task: the same examples may lie elsewhere on another computer."""


def identity_of(settings: Settings) -> str:
    """The digest of the settings that a resumed run shares with the one that broke off."""
    told = settings.model_dump(mode="json", exclude={*MAY_CHANGE, *_OF_ONE_CALL})
    groups = {name: value for name, value in told.pop("groups").items() if name not in MAY_CHANGE}
    groups["task"] = {k: v for k, v in groups["task"].items() if k not in _PLACES}
    text = json.dumps([told, groups], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:32]
