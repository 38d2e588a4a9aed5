"""What there is to know of a computer, an installation and a working folder, as plain values.

What they mean is in `tagma.launch.doctor.findings`, which looks at nothing but these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

GB, MB = 10**9, 10**6


@dataclass(frozen=True)
class Package:
    """A package that Tagma, or an extra of it, asks for."""

    name: str
    wanted: str
    """The versions that will do, such as ">=2.0"."""
    version: str | None
    """None: not installed."""
    extra: str = ""


@dataclass(frozen=True)
class Torch:
    """The build of torch."""

    version: str
    cuda: str | None
    """The version of CUDA that it was built with."""
    sees_gpu: bool
    threads: int


@dataclass(frozen=True)
class Docker:
    """What there is of Docker."""

    client: str | None
    """Where its command is."""
    engine: str | None = None
    """The version of the engine that answers."""
    problem: str = ""
    """What the client says where none does."""
    compose: tuple[str, ...] = ()
    """The commands of Compose that answer."""


@dataclass(frozen=True)
class Certificate:
    """A certificate of a deployment."""

    path: Path
    begins: datetime
    ends: datetime


@dataclass(frozen=True)
class Facts:
    """All of it; None is what cannot be found out here."""

    now: datetime
    python: str
    executable: str
    packages: tuple[Package, ...]
    torch: Torch | str
    """Or why it cannot be imported."""
    numpy: str
    """Version, BLAS and threads; or why it cannot be imported."""
    numpy_works: bool
    flower: str
    flower_tested: str
    """The version that Tagma is tested with."""
    flower_problem: str | None
    """What of Flower's private parts does not fit."""
    ray_problem: str | None
    """Why Ray cannot be imported."""
    commands: Mapping[str, str | None]
    """Where commands are."""
    ports_taken: frozenset[int]
    """Of those that are used by default, the ones that somebody listens on."""
    loopback: bool
    """Whether this process may listen on 127.0.0.1."""
    docker: Docker
    cores: int
    memory: int
    """Bytes that are free for this process."""
    disk: Mapping[str, int]
    """Free bytes by folder: "." and the temporary one."""
    writable: Mapping[str, bool]
    shared_memory: int | None
    """Bytes of /dev/shm, where there is one."""
    ray_address: str | None = None
    """An existing cluster that is to be used."""
    ray_answers: bool = False
    keys: Path = Path("keys")
    certificates: tuple[Certificate, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Certificates that are none, with reasons."""
    exposed: tuple[Path, ...] = ()
    """Private keys that other users can read."""
    hidden: tuple[str, ...] = ()
    """Files here that hide a library from scripts which are started here."""
    other_checkout: str | None = None
    """Where Tagma is imported from, if the working folder is another checkout of it."""
    leftovers: Mapping[Path, int] = field(default_factory=dict)
    """Folders of runs whose guard is gone, and how many processes of theirs go on."""
