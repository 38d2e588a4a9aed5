"""A `flower-superexec` with a head start: client tasks are forked, not started.

A SuperNode asks `flower-superexec` to start a new Python for every message; importing Flower and
NumPy is most of what a small round costs. This one runs Flower's own program with one part
replaced, the executor that starts tasks. A helper process imports what a client needs, once, and
forks for every client task, which then runs Flower's own client program. Every other task, and
every task if the helper fails, is started Flower's way.

Only the packages of others are imported ahead: Tagma's own are imported in the fork, so that the
code of a Flower app that is shipped to the node is the code that runs.

It stands in for the command by its name: `shim` makes a folder that comes first on a node's PATH.
With another version of Flower than the one it was tested with, it is the real command.
"""

import json
import os
import shlex
import signal
import sys
import sysconfig
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NoReturn

from tagma import flower_private

COMMAND = "flower-superexec"
_EXECUTOR = "SubprocessExecutor"
_SMALL = ["task.clients=2", "task.clusters=1", "task.dim=1", "task.samples=2", "attack=none"]


def shim(folder: Path) -> Path:
    """A folder with a script by the command's name; made unless it is there."""
    text = (
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m tagma.launch.deploy.executor "$@"\n'
    )
    script = folder / COMMAND
    if not script.exists() or script.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f".{COMMAND}.{os.getpid()}"
        partial.write_text(text)
        partial.chmod(0o755)
        os.replace(partial, script)
    if not os.access(script, os.X_OK):  # for example on a file system mounted noexec
        print(f"{script} cannot be executed; clients start slowly", file=sys.stderr)
    return folder


def main() -> None:
    """Run `flower-superexec` with forked clients, or as it is."""
    if not flower_private.IS_TESTED or not hasattr(os, "fork"):
        real = str(Path(sysconfig.get_path("scripts")) / COMMAND)
        os.execv(real, [real, *sys.argv[1:]])
    from tagma.server.transport import flower_executor as flower

    helper = _start_helper(flower)
    # The one place where Flower's program is changed: which executor its factory makes.
    setattr(flower.factory, _EXECUTOR, _forking(getattr(flower.factory, _EXECUTOR), helper))
    sys.argv[0] = COMMAND
    flower.flower_superexec()


def _forking(executor: type[Any], helper: IO[str]) -> type[Any]:
    """Flower's executor, but for client tasks while the helper is there."""
    from tagma.server.transport.flower_executor import LaunchResult, TaskType

    class ForkingExecutor(executor):  # type: ignore[misc]
        def launch(self, spec: Any) -> Any:
            if spec.task_type == TaskType.CLIENT_APP:
                with suppress(OSError):
                    helper.write(json.dumps(asdict(spec)) + "\n")
                    helper.flush()
                    return LaunchResult.accepted()
            return super().launch(spec)

    return ForkingExecutor


def _start_helper(flower: ModuleType) -> IO[str]:
    """Fork the helper; what is written to the result are its tasks, one JSON object a line.

    It is forked before Flower does anything, so that it has no threads and no connections.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(writer)
        _help(os.fdopen(reader, encoding="utf-8"), flower)
    os.close(reader)
    # A helper that is gone must be an error of the write, not a signal.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return os.fdopen(writer, "w", encoding="utf-8")


def _help(tasks: IO[str], flower: ModuleType) -> NoReturn:
    """Import, then fork for every task, until the executor is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for clients
    _import_ahead()
    for line in tasks:
        if os.fork() == 0:
            tasks.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _run_client(flower, json.loads(line))
    os._exit(0)


def warm_up() -> None:
    """Let a small client compute once, so that all it needs is imported."""
    import_module("tagma.client.app")
    settings = import_module("tagma.settings").compose(_SMALL)
    client = import_module("tagma.client.local_client").make_client(settings, 0, None)
    client.answer("local_model", (client.data.targets, {}), 1, {})


def _import_ahead() -> None:
    """Import what a client needs, then forget our own part of it."""
    with suppress(Exception):  # whatever is wrong shows where the client runs
        warm_up()
    for name in [name for name in sys.modules if name.partition(".")[0] == "tagma"]:
        del sys.modules[name]


def _run_client(flower: ModuleType, spec: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        if spec["suppress_output"]:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
        flower.run_clientapp(
            runtime_api_address=spec["runtime_api_address"],
            token=spec["token"],
            insecure=spec["insecure"],
            certificates=flower.validate_and_resolve_root_certificates(
                spec["root_certificates_path"], spec["insecure"]
            ),
            parent_pid=spec["parent_pid"],
            runtime_dependency_install=spec["runtime_dependency_install"],
        )
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
