"""An attack that a file of the node's own names: how a demonstration turns a node mid-run.

The node is told of the file by its node-config `attack-file`, which only the demo's containers set.
One word stands in it: a local attack by its name, or `none` for an honest client; while the file is
missing or empty, the settings of the run say who attacks. It is read for every message.
"""

from pathlib import Path

import numpy as np

from tagma.attacks.adversary import attack_named
from tagma.attacks.base import LocalAttack
from tagma.attacks.schedule import Phase, Squad
from tagma.errors import SettingError
from tagma.foreign_file import read_text
from tagma.kept import kept
from tagma.settings import Settings

KEY = "attack-file"
HONEST = "none"
_MOST = 200
"""Bytes of the file."""


def word_in(path: Path) -> str:
    """What the file says; nothing where there is none."""
    try:
        return read_text(path, _MOST).strip()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as problem:
        raise SettingError(KEY, path, f"cannot be read ({problem})") from None


@kept(maxsize=8)
def squad_named(word: str, settings: Settings) -> Squad | None:
    """A squad of one that runs the attack of this name, with the settings of its choice."""
    if word == HONEST:
        return None
    attack = attack_named(KEY, word, settings)
    if not isinstance(attack, LocalAttack):
        raise SettingError(KEY, word, "is no attack that a node runs by itself")
    return Squad(np.zeros(0, dtype=bool), (Phase(attack),))
