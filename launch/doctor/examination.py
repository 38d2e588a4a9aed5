"""Finds the facts; nothing here may fail, and nothing is changed.

What is slow or has side effects is not done: Ray is imported and not started, ports are tried on
loopback and let go, the Docker engine is asked for its version.
"""

import os
import platform
import shutil
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import (
    PackageNotFoundError,
    metadata,
    packages_distributions,
    requires,
    version,
)
from pathlib import Path

import psutil
from cryptography import x509
from packaging.requirements import Requirement

import tagma
from tagma.escaping import one_line
from tagma.launch.deploy.keys import KEY, SECRET
from tagma.launch.doctor.facts import Certificate, Docker, Facts, Package, Torch
from tagma.launch.doctor.findings import FLOWERS_OWN, PORTS

_COMMANDS = (
    "flwr", "flower-superlink", "flower-superexec", "flower-supernode", "git", "make", "docker",
)  # fmt: skip
_ANSWER_SECONDS = 10
_GUARD, _GUARDS_SECONDS = "process_guard.py", 60
"""A run's folder is made within this time of its guard's start."""
_FLOWERS_PARTS = (
    "tagma.flower_private", "tagma.server.transport.flower_superlink",
    "tagma.server.transport.flower_control", "tagma.server.transport.flower_executor",
)  # fmt: skip
_COMPOSE = (("docker", "compose"), ("docker-compose",))


def examine(keys: Path) -> Facts:
    """The facts of this process's computer, installation and working folder."""
    numpy, numpy_works = _numpy()
    commands = {name: _command(name) for name in _COMMANDS}
    places = (".", _temporary())
    found, unreadable = _certificates(keys)
    address = os.environ.get("RAY_ADDRESS")
    return Facts(
        now=datetime.now(UTC),
        python=platform.python_version(),
        executable=sys.executable,
        packages=tuple(_packages()),
        torch=_torch(),
        numpy=numpy,
        numpy_works=numpy_works,
        flower=_version("flwr") or "none",
        flower_tested=_tested(),
        flower_problem=_first_problem(*_FLOWERS_PARTS),
        ray_problem=_first_problem("ray"),
        commands=commands,
        ports_taken=frozenset(port for port in (*PORTS, FLOWERS_OWN) if not _is_free(port)),
        loopback=_is_free(0),
        docker=_docker(commands["docker"]),
        cores=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        memory=min(psutil.virtual_memory().available, _left_in_group()),
        disk={place: shutil.disk_usage(place).free for place in places},
        writable={place: os.access(place, os.W_OK | os.X_OK) for place in places},
        shared_memory=shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else None,
        ray_address=address,
        ray_answers=address is not None and _answers(address),
        keys=keys,
        certificates=tuple(found),
        unreadable=tuple(unreadable),
        exposed=tuple(_exposed(keys)),
        hidden=tuple(_hidden(Path.cwd())),
        other_checkout=_other_checkout(Path.cwd()),
        leftovers=_leftovers(Path(places[1])),
    )


def _temporary() -> str:
    """The temporary folder; where there is no room in any, the one that it would be."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return "/tmp"


def _packages() -> Iterator[Package]:
    try:
        extras = metadata("tagma").get_all("Provides-Extra") or []
        asked = [Requirement(text) for text in requires("tagma") or ()]
    except PackageNotFoundError:
        return
    for one in asked:
        for extra in ("", *(name for name in extras if name != "dev")):
            without = one.marker is None or one.marker.evaluate({"extra": ""})
            if without == (not extra) and (
                one.marker is None or one.marker.evaluate({"extra": extra})
            ):
                yield Package(one.name, str(one.specifier), _version(one.name), extra)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _first_problem(*modules: str) -> str | None:
    """Why the first of these cannot be imported, if any cannot."""
    try:
        for name in modules:
            import_module(name)
    except Exception as problem:  # an import may fail in any way
        return one_line(problem)
    return None


def _tested() -> str:
    with suppress(Exception):
        from tagma.flower_private import TESTED

        return TESTED
    return "none"


def _torch() -> Torch | str:
    try:
        import torch

        return Torch(
            torch.__version__,
            torch.version.cuda,
            torch.cuda.is_available(),
            torch.get_num_threads(),
        )
    except Exception as problem:  # an import may fail in any way
        return one_line(problem)


def _numpy() -> tuple[str, bool]:
    try:
        import numpy
        from threadpoolctl import threadpool_info

        blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
        told = ", ".join(
            f"{one['internal_api']} {one['version'] or ''} ({one['num_threads']} threads)"
            for one in blas[:1]
        )
        return f"{numpy.__version__}, {told or 'without a BLAS that is known'}", True
    except Exception as problem:  # an import may fail in any way
        return f"cannot be imported ({one_line(problem)}): install it anew", False


def _command(name: str) -> str | None:
    """Where a command is; Flower's are beside Python's own."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    return shutil.which(name, path=path)


def _is_free(port: int) -> bool:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        return True
    except OSError:
        return False


def _answers(address: str) -> bool:
    """Whether somebody listens there; `auto` and `local` name nobody that could be asked."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host:
        return True
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
        return True
    except (OSError, ValueError):
        return False


def _docker(client: str | None) -> Docker:
    if client is None:
        return Docker(None)
    engine, problem = _told(client, "info", "--format", "{{.ServerVersion}}")
    compose = []
    for command in _COMPOSE:
        told, _ = _told(*command, "version", "--short")
        if told:
            compose.append(f"{' '.join(command)} {told}")
    return Docker(client, engine or None, problem, tuple(compose))


def _told(*command: str) -> tuple[str, str]:
    """The first line that a command prints, or why there is none."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace",
            timeout=_ANSWER_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        return "", one_line(problem)
    if done.returncode != 0:
        return "", one_line(done.stderr)
    return one_line(done.stdout.strip().partition("\n")[0]), ""


def _left_in_group() -> int:
    """Bytes that a limit of this container leaves, where there is one."""
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        most = int((group / "memory.max").read_text())
        return most - int((group / "memory.current").read_text())
    return sys.maxsize


def _certificates(keys: Path) -> tuple[list[Certificate], list[str]]:
    found, unreadable = [], []
    for path in sorted({*keys.glob("*.crt"), *keys.glob("*/server.crt")}):
        try:
            one = x509.load_pem_x509_certificate(path.read_bytes())
            found.append(Certificate(path, one.not_valid_before_utc, one.not_valid_after_utc))
        except (OSError, ValueError) as problem:
            unreadable.append(f"{path}: cannot be read ({one_line(problem, 80)})")
    return found, unreadable


def _exposed(keys: Path) -> Iterator[Path]:
    if os.name != "posix":
        return
    for pattern in ("*.key", "*/*.key", f"*/{KEY}", f"*/{SECRET}"):
        for path in sorted(keys.glob(pattern)):
            with suppress(OSError):
                if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
                    yield path


def _hidden(folder: Path) -> Iterator[str]:
    """What is here by the name of a library: first on the path of a script that is started here."""
    own = {Requirement(text).name.lower() for text in _asked()} | {"tagma"}
    names = {
        module
        for module, distributions in packages_distributions().items()
        if own & {name.lower() for name in distributions}
    }
    names |= set(sys.stdlib_module_names) | {"tagma"}
    found: list[Path] = []
    with suppress(PermissionError):
        found = sorted(folder.iterdir())
    for path in found:
        is_module = path.suffix == ".py" and path.stem in names
        is_package = path.name in names and (path / "__init__.py").is_file()
        if (is_module or is_package) and not _is_ours(path):
            yield path.name


def _asked() -> list[str]:
    try:
        return requires("tagma") or []
    except PackageNotFoundError:
        return []


def _is_ours(path: Path) -> bool:
    return path.resolve() == Path(tagma.__file__).resolve().parent


def _other_checkout(folder: Path) -> str | None:
    """Where Tagma is, if the folder is a checkout of it and not that one."""
    is_one = (folder / "tagma" / "__init__.py").is_file() and (
        folder / "launch" / "cli.py"
    ).is_file()
    return (
        None if not is_one or _is_ours(folder / "tagma") else str(Path(tagma.__file__).parents[1])
    )


def _leftovers(temporary: Path) -> dict[Path, int]:
    """Folders of runs that no guard looks after, and the processes that were started in them."""
    guards, places = [], []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if any(word.endswith(_GUARD) for word in process.cmdline()):
                guards.append(process.create_time())
            places.append(process.cwd())
    found = {}
    for folder in sorted({*temporary.glob("tagma-*/cwd"), *Path("/tmp").glob("tagma-*/cwd")}):
        with suppress(OSError):
            made = folder.stat().st_ctime
            if any(0 <= made - began + 1 < _GUARDS_SECONDS for began in guards):
                continue
            if time.time() - made > _GUARDS_SECONDS:
                found[folder.parent] = places.count(str(folder))
    return found
