"""One federation in a process of its own: CPU time of its rounds and the peak memory.

`python -m tagma.bench.scale.one_run OVERRIDES` prints them as JSON in the last line.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from tagma.bench.peak_memory import peak_memory
from tagma.errors import TagmaError
from tagma.launch.run import check, log_to_root
from tagma.plugins import build
from tagma.server.results.events import RoundFinished
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Cost:
    """What one federation took."""

    first: float
    """CPU seconds of round 1: local models and clusters, and what is made before."""
    later: float
    """CPU seconds of a later round, the median; without the first two, in which things are made."""
    whole: float
    """CPU seconds of all rounds."""
    before: int
    """Bytes of the process when its modules were imported."""
    peak: int
    """The most bytes of it."""
    clusters: int | None
    misclustering: float | None
    """As the run's results have them; None: unknown."""


def cost_of(overrides: list[str], timeout: float | None = None) -> Cost:
    """Of one federation, in one thread; a `TagmaError` where it fails."""
    command = [sys.executable, "-m", __spec__.name, *overrides]
    environment = os.environ | dict.fromkeys(_THREADS, "1")
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise TagmaError(f"not done after {timeout:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise TagmaError(lines[-1] if lines else f"ended with {done.returncode}")
    return Cost(**json.loads(done.stdout.strip().splitlines()[-1]))


def main(overrides: list[str]) -> None:
    """Run it here and print what it took."""
    log_to_root("flwr")
    settings = compose([*overrides, "oracle=false", "checkpoint_every=0"])
    check(settings)
    before, ends = peak_memory(), [process_time()]

    def observe(event: RoundFinished) -> None:
        ends.append(process_time())

    with TemporaryDirectory() as folder:
        build("engine", settings.choice("engine"))(settings, Path(folder), observe)
        found = read_metrics(Path(folder))
    each = [after - start for start, after in pairwise(ends)]
    cost = Cost(
        first=each[0],
        later=median(each[2:] or each[1:] or [0.0]),
        whole=sum(each),
        before=before,
        peak=peak_memory(),
        clusters=len(found["clusters"]) if found.get("clusters") is not None else None,
        misclustering=found.get("misclustering"),
    )
    print(json.dumps(asdict(cost)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TagmaError as error:
        sys.exit(str(error))
