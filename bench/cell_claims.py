"""Claims: who is at work on a cell, so that two processes on one folder share the work.

A claim is a file beside the results. It holds while its owner lives: one on this computer is asked
for by its process, one elsewhere must have touched the file lately. Should two take over an expired
claim at the same moment, a cell runs twice and the same result is written twice.
"""

import json
import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil

from tagma.atomic_file import whole_file

_SILENCE = 120.0
"""Seconds after which a claim that is not renewed is void."""
_RENEWAL = 20.0


class Claims:
    """The claims of this process in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: set[str] = set()
        self._renewed = time.monotonic()
        self._me = json.dumps(
            {
                "host": platform.node(),
                "process": os.getpid(),
                "born": psutil.Process().create_time(),
                "token": uuid4().hex,
            }
        )

    def take(self, key: str) -> bool:
        """Claim a cell; False if someone else is at work on it."""
        file = self._file(key)
        try:
            with file.open("x") as claim:
                claim.write(self._me)
        except FileExistsError:
            if not self._void(file):
                return False
            with whole_file(file) as partial:
                partial.write_text(self._me)
        self._mine.add(key)
        return True

    def drop(self, key: str) -> None:
        """Give a cell up, finished or not."""
        self._mine.discard(key)
        self._file(key).unlink(missing_ok=True)

    def renew(self) -> None:
        """Show that this process lives; call it often."""
        if time.monotonic() - self._renewed > _RENEWAL:
            self._renewed = time.monotonic()
            for key in self._mine:
                with suppress(FileNotFoundError):
                    os.utime(self._file(key))

    def drop_all(self) -> None:
        """Give everything up."""
        for key in list(self._mine):
            self.drop(key)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.claim"

    def _void(self, file: Path) -> bool:
        try:
            touched = file.stat().st_mtime
            owner = json.loads(file.read_text())
        except FileNotFoundError:
            return True
        except ValueError:
            owner = {}  # its owner has not finished writing, or never will
        if owner.get("host") == platform.node():
            return not _lives(owner["process"], owner["born"])
        return self._now() - touched > _SILENCE

    def _now(self) -> float:
        """The time by the clock of the file system, which other computers share."""
        probe = self._folder / f".now.{uuid4().hex}"
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink(missing_ok=True)
        return now


def _lives(process: int, born: float) -> bool:
    try:
        return abs(psutil.Process(process).create_time() - born) < 1.0
    except psutil.Error:
        return False
