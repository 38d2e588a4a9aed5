"""The `tagma` command: `tagma` calls it in this process, `tagma_process` starts one as a user does.

A process of its own costs seconds, most of them imports. It is for what only a process shows: exit
codes as a shell sees them, signals, a server that dies, engines that start others.
"""

import logging
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import invalidate_caches
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from tagma.kept import forget
from tagma.launch.cli import main

_last: dict[str, Path] = {}
"""The folder of the last command."""


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def tagma(*arguments, cwd, **environment) -> Done:
    """Run the command here; the process is afterwards as it was."""
    output, errors, code = StringIO(), StringIO(), 0
    with (
        _as_it_was(cwd),
        patch.dict(os.environ, environment),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        sys.argv = ["tagma", *arguments]
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:  # as Python itself does with what nobody catches
            traceback.print_exc()
            code = 1
    return Done(code, output.getvalue(), errors.getvalue())


def tagma_process(*arguments, cwd, **environment) -> subprocess.CompletedProcess:
    """Run the command in a process of its own."""
    command = "import sys; sys.argv[0] = 'tagma'; from tagma.launch.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, *arguments],
        cwd=cwd, capture_output=True, text=True, env=os.environ | environment, check=False,
    )  # fmt: skip


@contextmanager
def _as_it_was(cwd: Path) -> Iterator[None]:
    """Undo what a command changes in its process, modules of the user's folder included."""
    before, path, argv = Path.cwd(), list(sys.path), sys.argv
    numbers, modules = (signal.SIGINT, signal.SIGTERM), set(sys.modules)
    handlers = {number: signal.getsignal(number) for number in numbers}
    loggers = [logging.getLogger(name) for name in (None, "flwr", "tagma.tasks")]
    kept = [(list(each.handlers), each.level, each.propagate) for each in loggers]
    for name, module in list(sys.modules.items()):  # plugins of other tests, by the same names
        if "pytest-of-" in str(getattr(module, "__file__", "")):
            del sys.modules[name]
    invalidate_caches()
    if cwd != _last.get("folder"):  # a relative path is another file there
        forget()
    _last["folder"] = cwd
    os.chdir(cwd)
    try:
        with patch.dict(os.environ):
            yield
    finally:
        os.chdir(before)
        sys.path[:], sys.argv = path, argv
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(cwd):
                del sys.modules[name]
        for logger, (handlers, level, propagate) in zip(loggers, kept, strict=True):
            for handler_of_run in set(logger.handlers) - set(handlers):
                handler_of_run.close()
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate
