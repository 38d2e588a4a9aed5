"""The folder `.hydra` of a run folder: its settings, as Hydra leaves them.

It is written here, and not by Hydra, which would do so before a folder that another run has is
refused.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from tagma.atomic_file import whole_file
from tagma.choices import SEARCHPATH
from tagma.foreign_file import own_folder
from tagma.override import key_of
from tagma.settings import Settings, composed

_NAME = ".hydra"
_OF_ONE_CALL = ("output", "resume")


def write_hydras(folder: Path, config: DictConfig, about: Any) -> None:
    """Write what Hydra composed: the settings, and what it says of itself; both as they are."""
    parts = {"config": config, "hydra": about, "overrides": about.hydra.overrides.task}
    _write(folder, {name: OmegaConf.to_yaml(part) for name, part in parts.items()})


def write_settings(folder: Path, settings: Settings) -> None:
    """Write them where Hydra's own are not there; what was there is replaced."""
    of_hydra = [text for text in settings.overrides if key_of(text) == SEARCHPATH]
    left_out = (SEARCHPATH, *_OF_ONE_CALL)
    own = [text for text in settings.overrides if key_of(text) not in left_out]
    about = {"hydra": {"run": {"dir": str(folder)}, "overrides": {"hydra": of_hydra, "task": own}}}
    config: Any = OmegaConf.to_container(composed(settings.overrides), resolve=True)
    parts = {"config": config, "hydra": about, "overrides": own}
    _write(folder, {
        name: yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
        for name, values in parts.items()
    })  # fmt: skip


def keep_settings(folder: Path, settings: Settings) -> None:
    """Write them, unless Hydra itself did, which says more."""
    file = folder / _NAME / "hydra.yaml"
    if not file.exists() or "\n  runtime:" not in file.read_text(encoding="utf-8"):
        write_settings(folder, settings)


def _write(folder: Path, parts: Mapping[str, str]) -> None:
    place = own_folder(folder / _NAME)
    for name, text in parts.items():
        with whole_file(place / f"{name}.yaml") as partial:
            partial.write_text(text, encoding="utf-8")
