"""Cells on a Ray cluster: the one that RAY_ADDRESS names, or one on this computer for the while.

Results come back to this process, which keeps them: the cluster's computers need Tagma, in the same
version, but none of its folders. A cell that takes too long is ended with its process. One whose
process died, as with the computer it was on, is tried once more, where there is room.
"""

import os
import secrets
import time
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

from tagma.bench.cell_identity import code_fingerprint
from tagma.bench.cell_store import FILES, write_result
from tagma.bench.cells import Cell
from tagma.bench.local_workers import LONGEST, ONE_THREAD, Ended, too_long, work
from tagma.errors import EngineError
from tagma.escaping import one_line

_ENVIRONMENT = dict.fromkeys(
    (
        "RAY_USAGE_STATS_ENABLED",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO",  # or it warns of what we do not use
    ),
    "0",
)
_OTHER_CODE = "a computer of the cluster has another version of the code or of a library"


class RayWorkers:
    """As many cells at a time as asked for, or as the cluster has processors."""

    def __init__(self, count: int | None, folder: Path, timeout: float | None = None) -> None:
        self._folder, self._timeout = folder, timeout or inf
        os.environ.update(_ENVIRONMENT)
        address = os.environ.get("RAY_ADDRESS")
        if not address:  # Ray listens on every interface: let nobody else submit work to it
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        ray: Any = import_module("ray")  # not above: it reads the environment
        own = {} if address else {"num_cpus": count, "include_dashboard": False}
        try:
            ray.init(
                address or "local",
                runtime_env={"env_vars": ONE_THREAD},
                log_to_driver=False,
                logging_level="ERROR",
                **own,
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            problem = str(error).partition("\n")[0]
            raise EngineError(f"RAY_ADDRESS={address or 'local'}: no Ray ({problem})") from None
        self._ray = ray
        self._count = count or int(ray.cluster_resources().get("CPU", 1))
        self._run = ray.remote(num_cpus=1, max_retries=0)(_remote_work)
        self._running: dict[Any, tuple[Cell, str, float]] = {}
        self._died: set[str] = set()

    @property
    def free(self) -> int:
        """How many cells could start at once."""
        there = int(self._ray.cluster_resources().get("CPU", 0))  # fewer, when a computer is lost
        return max(min(self._count, there), 1) - len(self._running)

    def start(self, key: str, cell: Cell) -> None:
        """Hand the cell to Ray."""
        self._running[self._run.remote(cell)] = (cell, key, time.monotonic())

    def ended(self, patience: float) -> list[Ended]:
        """The cells that have ended, those that took too long among them."""
        self._ray.wait(list(self._running), num_returns=1, timeout=patience)
        ready, rest = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        over = [end for task in ready if (end := self._received(task))]
        for task in rest:
            _, key, started = self._running[task]
            if time.monotonic() - started > self._timeout:
                self._ray.cancel(task, force=True)
                del self._running[task]
                over.append(Ended(key, None, too_long(self._timeout), timed_out=True))
        return over

    def close(self) -> None:
        """Leave the cluster; one of our own ends, and everything on it."""
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._ray.shutdown()

    def _received(self, task: Any) -> Ended | None:
        """None of a cell that has to be run again."""
        cell, key, _ = self._running.pop(task)
        died = self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.NodeDiedError
        try:
            code, result, error = self._ray.get(task)
        except self._ray.exceptions.RayError as problem:
            if isinstance(problem, died) and key not in self._died:
                self._died.add(key)
                self.start(key, cell)
                return None
            return Ended(key, None, one_line(problem, LONGEST))
        if code != code_fingerprint():
            return Ended(key, None, _OTHER_CODE)
        if result is not None:
            write_result(self._folder, key, result)
            result.pop(FILES, None)
        return Ended(key, result, error)


def _remote_work(cell: Cell) -> tuple[str, dict[str, Any] | None, str | None]:
    """A cell's result, and by which code."""
    return code_fingerprint(), *work(cell)
