"""What a Hydra override says, without Hydra."""


def key_of(override: str) -> str:
    """The setting or group that it is about, without the signs for adding and removing."""
    return override.lstrip("+~").partition("=")[0]
