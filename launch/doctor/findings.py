"""From facts to findings: what works, what will not, why, and what to do about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from packaging.specifiers import SpecifierSet

from tagma.launch.doctor.facts import GB, MB, Facts, Package, Torch

OK, WARNING, WILL_NOT = "ok", "warning", "will not work"
PORTS = {
    8000: "a SuperLink",
    8443: "`tagma proxy`",
    9094: "`tagma node`",
}
"""What listens where, if nothing else is said."""
FLOWERS_OWN = 39091
"""Where the SuperLink listens that `flwr run` starts and leaves."""
_LEAST_PYTHON = 3, 11
_LITTLE_MEMORY, _NO_MEMORY = 2 * GB, 400 * MB
_LITTLE_DISK, _NO_DISK = 1 * GB, 10 * MB
_SMALL_SHARED = 1 * GB
_SOON = timedelta(days=30)
_FLOWERS = ("flwr", "flower-superlink", "flower-superexec", "flower-supernode")
_SIMULATION = "pip install 'flwr[simulation]'"
_NO_LOOPBACK = "this process may not listen on 127.0.0.1"
_OPTIONAL = {
    "datasets": "task.dataset, data sets by name",
    "tensorboard": "tracking=tensorboard",
    "mlflow": "tracking=mlflow",
    "wandb": "tracking=wandb",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    about: str
    state: str
    says: str
    """What there is, or what will not work and why, and what to do."""
    needed: bool = False
    """Whether `tagma run` needs it."""

    @property
    def fails(self) -> bool:
        """Whether `tagma run` cannot work by it."""
        return self.needed and self.state == WILL_NOT


def findings_of(facts: Facts) -> list[Finding]:
    """What `tagma run` needs first, then the rest."""
    found = [
        *_python(facts), *_packages(facts), *_numpy(facts), *_torch(facts), *_flower(facts),
        *_memory(facts), *_folders(facts), *_ray(facts), *_deployment(facts), *_docker(facts),
        *_certificates(facts), *_tools(facts), *_extras(facts), *_working_folder(facts),
        *_leftovers(facts),
    ]  # fmt: skip
    return sorted(found, key=lambda one: not one.needed)


def _python(facts: Facts) -> Iterator[Finding]:
    version = tuple(int(part) for part in facts.python.split(".")[:2])
    if version < _LEAST_PYTHON:
        says = f"{facts.python}: Tagma needs 3.11 or later; make an environment with another Python"
        yield Finding("Python", WILL_NOT, says, needed=True)
    else:
        yield Finding("Python", OK, f"{facts.python}, {facts.executable}", needed=True)


def _packages(facts: Facts) -> Iterator[Finding]:
    own = [package for package in facts.packages if not package.extra]
    bad = [package for package in own if not _fits(package) and package.name != "flwr"]
    for package in bad:
        there = "is not installed" if package.version is None else f"{package.version} is installed"
        asked = f"{package.name}{package.wanted}"
        says = f"{there}, Tagma asks for {asked}: pip install '{asked}'"
        yield Finding(package.name, WILL_NOT, says, needed=True)
    if not own:
        says = "Tagma is not installed as a package, so what it asks for is not known here"
        yield Finding("packages", WARNING, says, needed=True)
    elif not bad:
        yield Finding("packages", OK, f"all {len(own)} that Tagma asks for fit", needed=True)


def _fits(package: Package) -> bool:
    wanted = SpecifierSet(package.wanted)
    return package.version is not None and wanted.contains(package.version, prereleases=True)


def _numpy(facts: Facts) -> Iterator[Finding]:
    yield Finding("numpy", OK if facts.numpy_works else WILL_NOT, facts.numpy, needed=True)


def _torch(facts: Facts) -> Iterator[Finding]:
    if not isinstance(facts.torch, Torch):
        says = f"cannot be imported ({facts.torch}): install it anew"
        yield Finding("torch", WILL_NOT, says, needed=True)
        return
    torch = facts.torch
    if torch.sees_gpu:
        where = f"a GPU by CUDA {torch.cuda}, device=cuda"
    elif torch.cuda:
        where = f"built for CUDA {torch.cuda}, but no GPU answers: device=cuda will not work"
    else:
        where = "a build for the CPU: device=cuda will not work"
    threads = f"{torch.threads} thread{'s' if torch.threads != 1 else ''}"
    yield Finding("torch", OK, f"{torch.version}, {where}; {threads}", needed=True)


def _flower(facts: Facts) -> Iterator[Finding]:
    if facts.flower_problem is not None:
        yield Finding("Flower", WILL_NOT, facts.flower_problem, needed=True)
    elif facts.flower != facts.flower_tested:
        says = (
            f"{facts.flower}; Tagma is tested with {facts.flower_tested}: "
            f"pip install flwr=={facts.flower_tested}"
        )
        yield Finding("Flower", WARNING, says, needed=True)
    else:
        yield Finding("Flower", OK, facts.flower, needed=True)


def _memory(facts: Facts) -> Iterator[Finding]:
    free = f"{facts.memory / GB:.1f} GB free, {facts.cores} cores"
    if facts.memory < _NO_MEMORY:
        says = f"{free}: a run takes 0.3 GB and more; end other programs"
        yield Finding("memory", WILL_NOT, says, needed=True)
    elif facts.memory < _LITTLE_MEMORY:
        says = f"{free}: enough for the default run; torch, Ray and nodes take 0.5 GB a process"
        yield Finding("memory", WARNING, says, needed=True)
    else:
        yield Finding("memory", OK, free, needed=True)


def _folders(facts: Facts) -> Iterator[Finding]:
    for folder, free in facts.disk.items():
        about = "working folder" if folder == "." else "temporary folder"
        place = "" if folder == "." else f"{folder}: "
        says = f"{place}{free / GB:.1f} GB free"
        if not facts.writable[folder]:
            remedy = "work elsewhere" if folder == "." else "set TMPDIR to another"
            says = f"{place}nothing can be written there; {remedy}"
            yield Finding(about, WILL_NOT, says, needed=True)
        elif free < _NO_DISK:
            says = f"{says}: the disk is full; make room, or name another by "
            says += "hydra.run.dir=FOLDER" if folder == "." else "TMPDIR"
            yield Finding(about, WILL_NOT, says, needed=True)
        elif free < _LITTLE_DISK:
            yield Finding(about, WARNING, f"{says}: little for large models", needed=True)
        else:
            yield Finding(about, OK, says, needed=True)


def _ray(facts: Facts) -> Iterator[Finding]:
    if facts.ray_problem is not None:
        says = f"engine=ray: Ray cannot be imported ({facts.ray_problem}): {_SIMULATION}"
        yield Finding("Ray", WILL_NOT, says)
    elif facts.ray_address and not facts.ray_answers:
        says = (
            f"engine=ray: nobody answers at RAY_ADDRESS={facts.ray_address}; start that cluster, "
            "or unset RAY_ADDRESS for one of the run's own"
        )
        yield Finding("Ray", WILL_NOT, says)
    elif not facts.loopback:
        yield Finding("Ray", WILL_NOT, f"engine=ray: {_NO_LOOPBACK}")
    elif facts.shared_memory is not None and facts.shared_memory < _SMALL_SHARED:
        says = (
            f"/dev/shm has {facts.shared_memory / GB:.2f} GB: Ray uses the disk in its place, "
            "which is slower; in a container: --shm-size=2g"
        )
        yield Finding("Ray", WARNING, says)
    else:
        yield Finding("Ray", OK, "can be imported; it is not started here")


def _deployment(facts: Facts) -> Iterator[Finding]:
    missing = [name for name in _FLOWERS if facts.commands.get(name) is None]
    if missing:
        says = f"engine=ray and deployment: {', '.join(missing)} not found: {_SIMULATION}"
        yield Finding("Flower's commands", WILL_NOT, says)
    else:
        yield Finding("Flower's commands", OK, ", ".join(_FLOWERS))
    if not facts.loopback:
        yield Finding("ports", WILL_NOT, f"engine=deployment: {_NO_LOOPBACK}")
        return
    taken = {port: what for port, what in PORTS.items() if port in facts.ports_taken}
    for port, what in taken.items():
        says = f"{port} is taken: {what} will not start there; end what has it, or use --port"
        yield Finding("ports", WARNING, says)
    if not taken:
        yield Finding("ports", OK, f"{', '.join(map(str, PORTS))} are free")
    if FLOWERS_OWN in facts.ports_taken:
        says = (
            f"{FLOWERS_OWN} is taken, most likely by a SuperLink that `flwr run` has left: the "
            "next `flwr run` uses it, with the code of the folder that it was started in"
        )
        yield Finding("ports", WARNING, says)


def _docker(facts: Facts) -> Iterator[Finding]:
    docker, about = facts.docker, "Docker"
    if docker.client is None:
        says = (
            "make demo: docker is not installed; engine=deployment engine.local_nodes=6 needs none"
        )
        yield Finding(about, WILL_NOT, says)
    elif docker.engine is None:
        why = docker.problem or "it does not say why"
        yield Finding(about, WILL_NOT, f"make demo: no engine answers ({why}); start it")
    elif not docker.compose:
        says = f"make demo: engine {docker.engine}, but no Compose: install docker-compose-plugin"
        yield Finding(about, WILL_NOT, says)
    elif all("docker-compose" in name for name in docker.compose):
        says = f"engine {docker.engine}, {docker.compose[0]}: Compose 1 is no longer maintained"
        yield Finding(about, WARNING, says)
    else:
        yield Finding(about, OK, f"engine {docker.engine}, {', '.join(docker.compose)}")


def _certificates(facts: Facts) -> Iterator[Finding]:
    about, renew = "certificates", f"new ones: tagma keys {facts.keys} --renew"
    for text in facts.unreadable:
        yield Finding(about, WILL_NOT, f"{text}: make it anew by `tagma keys`")
    for path in facts.exposed:
        says = f"{path}: other users can read this private key: chmod 600 {path}"
        yield Finding(about, WARNING, says)
    for one in facts.certificates:
        if one.ends <= facts.now:
            says = f"{one.path}: ended on {one.ends:%Y-%m-%d}: nobody can connect; {renew}"
            yield Finding(about, WILL_NOT, says)
        elif one.begins > facts.now:
            says = f"{one.path}: begins on {one.begins:%Y-%m-%d}; is this computer's clock right?"
            yield Finding(about, WILL_NOT, says)
        elif one.ends - facts.now < _SOON:
            says = f"{one.path}: ends on {one.ends:%Y-%m-%d}; {renew}"
            yield Finding(about, WARNING, says)
    good = [one.ends for one in facts.certificates if one.begins <= facts.now < one.ends]
    if good and len(good) == len(facts.certificates) and not facts.unreadable:
        says = f"{len(good)} in {facts.keys}, the first ends on {min(good):%Y-%m-%d}"
        yield Finding(about, OK, says)


def _tools(facts: Facts) -> Iterator[Finding]:
    uses = {"git": "metrics.json will not name the commit", "make": "no `make run`, `make test`"}
    for name, use in uses.items():
        there = facts.commands.get(name) is not None
        says = str(facts.commands.get(name)) if there else f"is not installed: {use}"
        yield Finding(name, OK if there else WARNING, says)


def _extras(facts: Facts) -> Iterator[Finding]:
    for extra, use in _OPTIONAL.items():
        own = [package for package in facts.packages if package.extra == extra]
        lacking = [package for package in own if not _fits(package)]
        if not own:
            continue
        if not lacking:
            there = ", ".join(f"{one.name} {one.version}" for one in own)
            yield Finding(f"extra {extra}", OK, there)
            continue
        first = lacking[0]
        why = f"{first.version} is not {first.wanted}" if first.version else "is not installed"
        says = f"{use}: {first.name} {why}: pip install 'tagma[{extra}]'"
        yield Finding(f"extra {extra}", WILL_NOT, says)


def _working_folder(facts: Facts) -> Iterator[Finding]:
    if facts.other_checkout is not None:
        says = (
            "is a checkout of Tagma, but `tagma` here is the one in "
            f"{facts.other_checkout}; use this folder's .venv/bin/tagma, or pip install -e ."
        )
        yield Finding("working folder", WARNING, says)
    for name in facts.hidden:
        says = (
            f"{name} hides a library of that name from Python scripts and notebooks that are "
            "started here; rename it (`tagma` itself is not confused by it)"
        )
        yield Finding("working folder", WARNING, says)


def _leftovers(facts: Facts) -> Iterator[Finding]:
    for folder, processes in facts.leftovers.items():
        going = f" and {processes} processes go on" if processes else ""
        says = f"{folder} is left of a run whose guard was killed{going}; "
        says += "end these and remove it" if processes else "it can be removed"
        yield Finding("leftovers", WARNING, says)
