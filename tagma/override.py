"""What a Hydra override says, without Hydra."""

from collections.abc import Sequence


def key_of(override: str) -> str:
    """The setting or group that it is about, without the signs for adding and removing."""
    return override.lstrip("+~").partition("=")[0]


def with_new_settings(overrides: Sequence[str]) -> list[str]:
    """The overrides as Hydra wants them where a plugin of one's own brings its own settings.

    Hydra knows the settings that a choice's file has, and wants `+` or `++` before any other. Who
    names the `_target_` of a group, or of a part of one, need not: whether the plugin has them is
    checked when it is built.
    """
    own = tuple(
        key.removesuffix("_target_") for key in map(key_of, overrides) if key.endswith("._target_")
    )
    return [
        f"++{text}" if "=" in text and own and text.startswith(own) else text for text in overrides
    ]
