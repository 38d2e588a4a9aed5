"""Errors that a user can act on: each prints as one line and names what to change."""

import os
import re

_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class TagmaError(Exception):
    """Base of all errors that are shown to the user as a single line, without a traceback.

    What they quote may be anybody's: a line break, or what moves the cursor, is a blank.
    """

    def __str__(self) -> str:
        return _BREAKS.sub(" ", super().__str__()).strip()

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the line, unless HYDRA_FULL_ERROR=1 asks for all."""
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise NotImplementedError  # IPython then does it itself
        return [f"{type(self).__name__}: {self}"]


class SettingError(TagmaError):
    """A setting that does not exist, or whose value is not allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key}={value}: {allowed}")
        self.key, self.value, self.allowed = key, value, allowed


class TagmaWarning(UserWarning):
    """What is allowed but unwise, where Tagma is used from Python."""


class EngineError(TagmaError):
    """An engine could not start, or its run did not finish."""


class FederationError(TagmaError):
    """The federation cannot go on, for example because no client sent a usable reply."""
