"""What goes wrong in which round, by a seed; and who missed which round, as the journal has it."""

import json
import random
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
from safetensors.numpy import load_file

from tagma.launch.engines import inprocess
from tagma.server.checkpoint import JOURNAL
from tagma.settings import compose
from tagma.strategies.absence import Absence


def faults(kinds: dict[str, int], rounds: int, seed: int) -> list[tuple[int, str]]:
    """Each kind so many times in 50 faults, at random places in the rounds, four rounds apart.

    Nothing goes wrong in the first two rounds and the last three.
    """
    drawn = random.Random(seed)
    places = list(range(3, rounds - 2, 4))
    deck = [kind for kind, count in kinds.items() for _ in range(count)]
    drawn.shuffle(deck)
    return [(place, deck[at % len(deck)]) for at, place in enumerate(places)]


class OpenJournal:
    """The journal of a run, which stays readable when the run has removed it."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / JOURNAL).open()

    def missed(self) -> dict[int, frozenset[int]]:
        """By round, the clients whose replies were not used."""
        self._file.seek(0)
        return missed(self._file)

    def rounds(self) -> int:
        """How many are over."""
        return max(self.missed(), default=0)

    def close(self) -> None:
        self._file.close()


def missed(lines: Iterable[str]) -> dict[int, frozenset[int]]:
    """By round, the clients whose replies were not used, of a journal's lines."""
    found = {}
    for line in lines:
        with suppress(ValueError):  # half a line, of one who was killed or is writing
            record = json.loads(line)
            gone = frozenset(client for client, _ in record["rejected"] if client is not None)
            found[record["event"]["round"]] = gone
    return found


def models_without_faults(
    overrides: list[str], away: dict[int, frozenset[int]], folder: Path
) -> dict[str, np.ndarray]:
    """The models of the same run in one process, without those who were away in each round."""

    def scheduled(self: Absence, number: int, count: int, seed: int) -> frozenset[int]:
        return away[number]

    with patch.object(Absence, "away", scheduled):
        inprocess.run(compose(overrides), folder, lambda event: None)
    return models_of(folder)


def models_of(folder: Path) -> dict[str, np.ndarray]:
    """All arrays of a run's models by their names."""
    return load_file(folder / "models.safetensors")


def bits(arrays: dict[str, np.ndarray]) -> dict[str, bytes]:
    """The same to the last bit."""
    return {name: array.tobytes() for name, array in arrays.items()}
