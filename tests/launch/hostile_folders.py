"""What a stranger may send: a run folder spoilt in one way each.

A trick is given the folder of a finished run, with a checkpoint beside the results, on a desk on
which nothing else may change, and beside `elsewhere`, a folder with what is secret and precious.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import yaml
from safetensors.numpy import load, save

from tagma.errors import TagmaError
from tagma.server.checkpoint import CHECKPOINTS, JOURNAL
from tagma.server.run_identity import identity_of
from tagma.server.state_file import sealed, unsealed
from tagma.settings import compose

SECRET = "0.7318243"
HUGE = 2**43
FEW = 1000
"""Characters of settings that are composed in no time."""
STATE = CHECKPOINTS[0]
SETTINGS = ("hydra", "config", "overrides")


def name_in(folder, *overrides, of_hydra=()):
    """Let every file of settings in a run folder name these."""
    place = folder / ".hydra/hydra.yaml"
    content = yaml.safe_load(place.read_text())
    content["hydra"]["overrides"]["task"] += overrides
    content["hydra"]["overrides"]["hydra"] += of_hydra
    place.write_text(yaml.safe_dump(content))
    own = [*content["hydra"]["overrides"]["task"]]
    (folder / ".hydra/overrides.yaml").write_text(yaml.safe_dump(own))
    arrays, about = unsealed((folder / STATE).read_bytes())
    about["overrides"] += (*overrides, *of_hydra)
    if sum(map(len, overrides)) < FEW:
        with suppress(TagmaError):  # it may not be composed
            about["run"] = identity_of(compose(about["overrides"]))
    (folder / STATE).write_bytes(b"".join(sealed(arrays, about)))


def naming(*overrides: str, of_hydra: tuple[str, ...] = ()) -> Callable[[Path, Path], None]:
    return lambda folder, elsewhere: name_in(
        folder,
        *(text.format(elsewhere=elsewhere) for text in overrides),
        of_hydra=tuple(text.format(elsewhere=elsewhere) for text in of_hydra),
    )


def in_config(text: str) -> Callable[[Path, Path], None]:
    """Text at the end of the settings that a report shows and `load` reads."""

    def spoil(folder, elsewhere):
        with (folder / ".hydra/config.yaml").open("a") as file:
            file.write(text.format(elsewhere=elsewhere))

    return spoil


def all_settings(text: str) -> Callable[[Path, Path], None]:
    def spoil(folder, elsewhere):
        for name in SETTINGS:
            (folder / f".hydra/{name}.yaml").write_text(text)
        (folder / STATE).write_bytes(b"".join(sealed({}, json.loads("[" * 900 + "]" * 900))))

    return spoil


BOMB = "a0: &a0 [x]\n" + "\n".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]" for i in range(1, 30))


def sparse(*names: str) -> Callable[[Path, Path], None]:
    def spoil(folder, elsewhere):
        for name in names:
            with (folder / name).open("r+b") as file:
                file.truncate(HUGE)

    return spoil


def linked(name: str, to: str) -> Callable[[Path, Path], None]:
    """A file or folder of the folder is a link to somebody's."""

    def spoil(folder, elsewhere):
        path = folder / name
        if path.is_dir():
            path.rename(folder.with_name("moved"))
        path.unlink(missing_ok=True)
        path.symlink_to(elsewhere / to)

    return spoil


def pipe(name: str) -> Callable[[Path, Path], None]:
    def spoil(folder, elsewhere):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return spoil


EVIL = b"cos\nsystem\n(S'touch was_run'\ntR."
"""A pickle that runs a command when it is read."""


def pickled(*names: str) -> Callable[[Path, Path], None]:
    def spoil(folder, elsewhere):
        for name in names:
            (folder / name).write_bytes(EVIL)

    return spoil


def in_metrics(change: Callable[[dict], object]) -> Callable[[Path, Path], None]:
    def spoil(folder, elsewhere):
        metrics = json.loads((folder / "metrics.json").read_text())
        change(metrics)
        (folder / "metrics.json").write_text(json.dumps(metrics))

    return spoil


def with_paths(metrics):
    """Scores, whose figures are files, and whatever else has a name."""
    score = metrics["scores"].pop("served_error")
    metrics["scores"]["../../elsewhere/mine"] = score | {"title": "../../elsewhere/mine"}
    metrics["scores"]["/elsewhere/mine"] = score
    metrics["settings"]["task"] = "../../elsewhere/mine"


def models(change: Callable[[dict], object]) -> Callable[[Path, Path], None]:
    def spoil(folder, elsewhere):
        tensors = load((folder / "models.safetensors").read_bytes())
        change(tensors)
        (folder / "models.safetensors").write_bytes(save(tensors))

    return spoil


def as_many_as_there_are_atoms(tensors):
    tensors |= dict.fromkeys(("models", "centres"), np.empty((10**12, 0)))


def nested_metrics(folder, elsewhere):
    (folder / "metrics.json").write_text('{"clusters": ' + "[" * 10**5 + "]" * 10**5 + "}")


def without_table(folder, elsewhere, data):
    """A run on a table, whose data are what the stranger says; nothing says how they are scaled."""
    name_in(folder, "task=table", f"task.data={data}")


def on_a_table(data: str) -> Callable[[Path, Path], None]:
    return lambda folder, elsewhere: without_table(
        folder, elsewhere, data.format(elsewhere=elsewhere)
    )


OF_CODE = {
    "a target": naming("attack=sign_flip", "attack._target_=evil.Attack"),
    "os.system": naming("task._target_=os.system", "+task.command=touch was_run"),
    "a target in a list": naming("aggregation.pre=[{{_target_: evil.pre}}]"),
    "a target anywhere": naming("+nothing={{a: [{{_target_: subprocess.getoutput}}]}}"),
    "a resolver": naming("task.noise=${{evil:1}}"),
    "the environment": naming("task.noise=${{oc.env:SECRET}}"),
    "the environment, hidden": naming(r"task.noise='${{oc.env:SECRET,${{task.dim}}}}'"),
    "the environment by a name": naming("+seen=${{oc.select:${{oc.env:SECRET}}}}"),
    "another folder of choices": naming(
        "attack=mine", of_hydra=("hydra.searchpath=[file://{elsewhere}]",)
    ),
    "another package of choices": naming(of_hydra=("hydra.searchpath=[pkg://evil]",)),
    "a choice by its path": naming("attack=../../../../../{elsewhere}/attack/mine"),
    "a preset by its path": naming("preset={elsewhere}/attack/mine"),
    "a choice in another place": naming("+attack@model=../../{elsewhere}/attack/mine"),
    "a value that fills the memory": naming("+x=shuffle(range(1,1000000000000))"),
    "too many settings": naming(*(f"+a{i}=1" for i in range(20_000))),
    "a setting that is too long": naming("+a=" + "x" * 500_000),
    "settings nested deeply": naming("+a=" + "[" * 3000),
    "tags": all_settings("a: !!python/object/apply:os.system ['touch was_run']\n"),
    "aliases": all_settings(BOMB),
    "deep YAML": all_settings("[" * 3000),
    "no YAML": all_settings("\x00\x01"),
}  # fmt: skip
"""Tricks with settings, which every command refuses that uses them."""
OTHERS = {
    "defaults": in_config("\ndefaults: [/attack: mine]\nhydra: {{searchpath: [{elsewhere}]}}\n"),
    "a target that nobody uses": in_config("\nmine: {{_target_: evil.Attack}}\n"),
    "the environment in the config": in_config("\nmine: ${{oc.env:SECRET}}\n"),
    "huge settings": sparse(*(f".hydra/{name}.yaml" for name in SETTINGS)),
    "a huge checkpoint": sparse(STATE, JOURNAL),
    "huge results": sparse("metrics.json", "history.csv", "clusters.csv", "models.safetensors"),
    "settings elsewhere": linked(".hydra", "settings"),
    "settings that are a link": linked(".hydra/config.yaml", "secret"),
    "overrides that are a link": linked(".hydra/hydra.yaml", "secret"),
    "metrics that are a link": linked("metrics.json", "secret"),
    "a table that is a link": linked("clusters.csv", "secret"),
    "models that are a link": linked("models.safetensors", "secret"),
    "a checkpoint that is a link": linked(STATE, "secret"),
    "a log to somewhere": linked("run.log", "precious"),
    "a history to somewhere": linked("history.csv", "precious"),
    "a report to somewhere": linked("report.html", "precious"),
    "figures to somewhere": linked("figures", "figures"),
    "tables to somewhere": linked("tables", "figures"),
    "a lock to somewhere": linked(".claimed", "made"),
    "another lock to somewhere": linked(".writing", "made"),
    "the other checkpoint to somewhere": linked(CHECKPOINTS[1], "precious"),
    **{f"a pipe for {name}": pipe(name) for name in (
        ".hydra/hydra.yaml", ".hydra/config.yaml", "metrics.json", "clusters.csv",
        "models.safetensors", STATE, CHECKPOINTS[1], JOURNAL, "run.log", ".claimed",
    )},
    "pickles": pickled("models.safetensors", STATE, "inputs.json"),
    "pickled metrics": pickled("metrics.json"),
    "names that are paths": in_metrics(with_paths),
    "deep metrics": nested_metrics,
    "models without end": models(as_many_as_there_are_atoms),
    "models by paths": models(lambda tensors: tensors.update({"0/../../mine": np.ones(3)})),
    "a device for data": on_a_table("/dev/zero"),
    "a secret for data": on_a_table("{elsewhere}/secret"),
    "a pipe for data": on_a_table("{elsewhere}/pipe"),
    "memory for data": on_a_table("/proc/kcore"),
    "more clients than atoms": naming("task.clients=1000000000000000"),
    "a tracker of theirs": naming("tracking=mlflow", "tracking.uri=http://127.0.0.1:9/"),
    "results elsewhere": naming("output={elsewhere}/mine"),
}  # fmt: skip
TRICKS = OF_CODE | OTHERS
