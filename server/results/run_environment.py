"""What a run was made with: versions, computer, and the commit of the code where it has one."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

import tagma
from tagma.choices import CONF
from tagma.entry_points import DECLARED, offers
from tagma.plugins import TARGET
from tagma.settings import Settings

_LIBRARIES = ("flwr", "torch", "numpy", "scipy", "scikit-learn")


@cache
def run_environment() -> dict[str, str | int | None]:
    """Versions of Python, Tagma and what computes, the processor, the platform, and the commit."""
    return {
        "python": platform.python_version(),
        "tagma": tagma.__version__,
        **{name: version(name) for name in _LIBRARIES},
        "processor": _processor(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "commit": commit_of(CONF.parent),
    }


def packages_of(settings: Settings) -> dict[str, str]:
    """The packages of others that offer the plugins of a run, with their versions."""
    found = {
        offer.package
        for group in DECLARED
        for offer in offers(group)
        if offer.target == settings.choice(group).get(TARGET)
    }
    return {"packages": ", ".join(sorted(found))} if found else {}


def commit_of(folder: Path) -> str | None:
    """The commit that is checked out there, with `-dirty` if files differ from it."""
    if not (folder / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        told = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None


def _processor() -> str:
    """Its name; Python itself knows it on few systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
