"""Runs that are killed at random points, again and again, and go on: `python kill_at_random.py N`.

A process of its own that has imported everything forks each command, so that a kill costs little.
Prints a JSON list: what every run said when it was killed, and how its results differ from those of
a run that was not.
"""

import contextlib
import csv
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tagma.launch import resume, run  # noqa: F401 (so that forks have them)
from tagma.launch.cli import main

MOST, ROUNDS, ENGINES = 2, 25, ("inprocess", "vectorised")
SMALL = ["task.clients=12", "task.clusters=2", "task.dim=4", "task.samples=40", "clustering.k=2",
         f"rounds={ROUNDS}"]  # fmt: skip
KINDS = (
    ["preset=tagma", "attack=infiltrate"],
    ["strategy=fedavg", "aggregation=centered_clipping", "aggregation.start=previous",
     "attack=alie"],
    ["strategy=ifca", "strategy.k=2", "attack=garbage", "sampling.fraction=0.5"],
    ["attack=ipm", "checkpoint_every=3", "evaluate_every=2"],
)  # fmt: skip
VARY = ("seconds", "messages", "bytes", "warnings", "participation", "environment")


def forked(words):
    """The process of a command."""
    if process := os.fork():
        return process
    with contextlib.suppress(BaseException), open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        sys.argv = ["tagma", *words]
        main()
        os._exit(0)
    os._exit(1)


def results(folder):
    """All that must not differ."""
    metrics = json.loads((folder / "metrics.json").read_text())
    with (folder / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kept = ("seconds", "bytes_down", "bytes_up")
    return {
        "models": (folder / "models.safetensors").read_bytes().hex(),
        "clusters": (folder / "clusters.csv").read_text(),
        "metrics": {key: value for key, value in metrics.items() if key not in VARY},
        "history": [{key: row[key] for key in row if key not in kept} for row in rows],
        "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*")),
    }


def state(folder):
    """Where a run was when it was killed."""
    if not (folder / "history.csv").exists():
        return "before the rounds"
    if (folder / "metrics.json").exists():
        return "after the rounds"
    return "in the rounds" if list(folder.glob("checkpoint.?.*")) else "before a checkpoint"


def wait_for_a_point(process, folder, chance):
    """Wait for a random round, or the end of all, and a little more.

    By what there is rather than by time, so that a busy computer has the same kills.
    """
    rounds = chance.randrange(-1, ROUNDS + 4)
    while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        history = folder / "history.csv"
        played = history.read_text().count("\n") - 1 if history.exists() else -1
        if played >= rounds or (folder / "metrics.json").exists():
            time.sleep(chance.choice((0, 0.003, 0.03, 0.3)) * chance.random())
            return
        time.sleep(0.0005)


def killed_and_resumed(words, folder, chance):
    """Kill a run, and what goes on with it, before one is let end; where it was each time."""
    kills = []
    first = command = ["run", *words, f"hydra.run.dir={folder}"]
    while True:
        process = forked(command)
        if len(kills) < MOST:
            wait_for_a_point(process, folder, chance)
            os.kill(process, signal.SIGKILL)
        _, code = os.waitpid(process, 0)
        if code == 0:
            return kills
        if code != signal.SIGKILL:
            raise SystemExit(f"{command} ended with {code} after {kills}")
        kills.append(state(folder))
        if (folder / "report.html").exists():  # nothing was left to do but to unlock the folder
            command = ["report", str(folder)]
        elif list(folder.glob("checkpoint.?.*")) or (folder / "metrics.json").exists():
            command = ["resume", str(folder)]
        else:
            command = first


def play(count, seed):
    """So many runs, over the engines and the kinds."""
    chance = random.Random(seed)
    whole, found = {}, []
    for number in range(count):
        kind, engine = number % len(KINDS), ENGINES[(number + number // 4) % 2]
        words = [*SMALL, *KINDS[kind], f"engine={engine}"]
        if (kind, engine) not in whole:
            folder = Path(f"whole-{kind}-{engine}")
            os.waitpid(forked(["run", *words, f"hydra.run.dir={folder}"]), 0)
            whole[kind, engine] = results(folder)
        folder = Path(f"killed-{number}")
        kills = killed_and_resumed(words, folder, chance)
        own = results(folder)
        differs = [name for name, value in whole[kind, engine].items() if own[name] != value]
        found.append({"folder": str(folder), "kills": kills, "differs": differs})
    return found


if __name__ == "__main__":
    print(json.dumps(play(int(sys.argv[1]), int(sys.argv[2]))))
