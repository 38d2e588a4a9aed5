"""The folder `.hydra` of a run folder: its settings, as Hydra leaves them for the command."""

from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from tagma.choices import SEARCHPATH
from tagma.override import key_of
from tagma.settings import Settings, composed

_NAME = ".hydra"
_OF_ONE_CALL = ("output", "resume")


def write_settings(folder: Path, settings: Settings) -> None:
    """Write them; what was there is replaced."""
    of_hydra = [text for text in settings.overrides if key_of(text) == SEARCHPATH]
    left_out = (SEARCHPATH, *_OF_ONE_CALL)
    own = [text for text in settings.overrides if key_of(text) not in left_out]
    about = {"hydra": {"run": {"dir": str(folder)}, "overrides": {"hydra": of_hydra, "task": own}}}
    config: Any = OmegaConf.to_container(composed(settings.overrides), resolve=True)
    place = folder / _NAME
    place.mkdir(parents=True, exist_ok=True)
    for name, values in (("config", config), ("hydra", about), ("overrides", own)):
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
        (place / f"{name}.yaml").write_text(text, encoding="utf-8")


def keep_settings(folder: Path, settings: Settings) -> None:
    """Write them, unless Hydra itself did, which says more."""
    file = folder / _NAME / "hydra.yaml"
    if not file.exists() or "\n  runtime:" not in file.read_text(encoding="utf-8"):
        write_settings(folder, settings)
