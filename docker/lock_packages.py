"""Write docker/packages.txt: what the image needs, with the hashes of the files that may be it.

`make lock` runs it. The versions are those of constraints.txt, the files those for Python 3.11 on
Linux, x86_64 and aarch64. Not in it: torch, whose builds come from different places, with hashes of
their own, and what only a build of torch for CUDA needs; and Ray, which no container starts.
"""

import json
import platform
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "docker" / "packages.txt"
LEFT_OUT = ("torch", "triton", "ray", "nvidia-", "cuda-")
HEADER = "# For Python 3.11 on x86_64 and aarch64; `make lock` writes this file anew.\n"


def resolved(*options: str) -> list[dict]:
    """What pip would install."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--quiet", "--report", "-", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["install"]


def name_of(package: dict) -> str:
    """Name and version as a requirement."""
    metadata = package["metadata"]
    return f"{metadata['name'].lower().replace('_', '-')}=={metadata['version']}"


def hash_of(package: dict) -> str:
    """The hash of the file."""
    return "sha256:" + package["download_info"]["archive_info"]["hashes"]["sha256"]


def main() -> None:
    """Resolve for this computer, then find the files for the other kind."""
    if sys.version_info[:2] != (3, 11) or platform.machine() != "x86_64":
        sys.exit("the packages of the image are locked by Python 3.11 on x86_64")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["build-system"]["requires"] + ["wheel"]
    here = resolved("--constraint", "constraints.txt", *wanted)
    here = [package for package in here if not name_of(package).startswith(LEFT_OUT)]
    found = {name_of(package): {hash_of(package)} for package in here}
    special = [name_of(p) for p in here if "x86_64" in p["download_info"]["url"]]
    tags = [f"manylinux_2_{minor}_aarch64" for minor in range(17, 37)] + ["manylinux2014_aarch64"]
    with tempfile.TemporaryDirectory() as nowhere:
        for package in resolved(
            "--no-deps", "--only-binary", ":all:", "--target", nowhere, "--python-version", "3.11",
            *(part for tag in tags for part in ("--platform", tag)), *special,
        ):  # fmt: skip
            found[name_of(package)].add(hash_of(package))
    lines = [
        " ".join([name, *(f"--hash={one}" for one in sorted(found[name]))])
        for name in sorted(found)
    ]
    PACKAGES.write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
