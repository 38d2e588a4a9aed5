"""Checkpoints with something changed: gone on from as if nothing were, or refused in one line."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from tagma import Clustered
from tagma.server.checkpoint import CHECKPOINTS, JOURNAL, load_checkpoint
from tagma.server.journal import Journal, Mark
from tagma.server.state_file import sealed, unsealed
from tests.mutations import EXAMPLES, mutated, mutated_value, tried
from tests.server.drop_in.ordinary_app import grid_of, initial
from tests.server.test_checkpoint import run

TINY = ["task.clients=4", "task.clusters=2", "task.dim=2", "task.samples=8", "rounds=3",
        "evaluate=false"]  # fmt: skip
KINDS = {
    "three stages": ["clustering.k=2", "attack=sign_flip", "preset=tagma"],
    "fedavg, colluding": ["strategy=fedavg", "aggregation=centered_clipping",
                          "aggregation.start=previous", "attack=alie", "attack.clients=[1]"],
    "cfl": ["strategy=cfl", "attack=none"],
    "threshold": ["strategy=threshold", "attack=none"],
    "ifca": ["strategy=ifca", "strategy.k=2", "attack=none"],
    "local": ["strategy=local", "attack=none"],
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def broken_off(request, tmp_path_factory):
    """The settings of a run that broke off, its folder, and the models of one that did not."""
    desk, digits = tmp_path_factory.mktemp("desk"), [*TINY, *KINDS[request.param]]
    run(desk / "whole", digits=digits)
    patch = pytest.MonkeyPatch()
    patch.setattr("tagma.server.checkpoint._SYNC_SECONDS", 0.0)  # so that there are two states
    with pytest.raises(KeyboardInterrupt):
        run(desk / "off", digits=digits, dies_in=4)
    patch.undo()
    return digits, desk / "off", (desk / "whole/models.safetensors").read_bytes()


@EXAMPLES
def test_changed_bytes_cost_rounds_and_no_result(broken_off, examples, tmp_path):
    digits, off, models = broken_off
    newest = load_checkpoint(off).file
    folder = tmp_path / "run"

    def resume(change):
        name, content = change
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(off, folder)
        (folder / name).write_bytes(content)
        run(folder, "resume=true", digits=digits)
        assert (folder / "models.safetensors").read_bytes() == models

    files = st.sampled_from([newest, JOURNAL])
    changes = files.flatmap(
        lambda name: st.tuples(st.just(name), mutated((off / name).read_bytes()))
    )
    tried(changes, 10 * examples, resume)


def changed_arrays(arrays):
    """A few of the arrays, by name, as they are not."""
    ways = st.sampled_from([
        lambda array: array.astype(np.float32), lambda array: array.astype(np.int64),
        lambda array: array.astype(bool), lambda array: array[..., :-1], lambda array: array[None],
        lambda array: array.reshape(-1), lambda array: array[:0], lambda array: array * np.nan,
        lambda array: array - 2, lambda array: array + 10**6, lambda array: array.T,
    ])  # fmt: skip
    return st.dictionaries(st.sampled_from(sorted(arrays)), ways, max_size=2)


@EXAMPLES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_changed_values_with_right_checksums_are_one_line_or_a_run(
    broken_off, examples, tmp_path, monkeypatch
):
    digits, off, _ = broken_off
    monkeypatch.setattr("tagma.server.state_file._finite", lambda array: True)
    newest = load_checkpoint(off).file
    arrays, about = unsealed((off / newest).read_bytes())
    lines = [json.loads(line) for line in (off / JOURNAL).read_text().splitlines()]
    lines = lines[: load_checkpoint(off).round]
    folder = tmp_path / "run"

    def resume(change):
        own_about, own_lines, ways = change
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        journal = Journal(folder / JOURNAL, Mark())
        for line in own_lines if isinstance(own_lines, list) else [own_lines]:
            journal.append(line)
        journal.close()
        if isinstance(own_about, dict) and own_about.get("journal") == about["journal"]:
            own_about["journal"] = asdict(journal.mark)
        own = {name: ways.get(name, np.asarray)(np.asarray(a)) for name, a in arrays.items()}
        (folder / CHECKPOINTS[0]).write_bytes(b"".join(sealed(own, own_about)))
        run(folder, "resume=true", digits=digits)

    same = [st.just(about), st.just(lines), st.just({})]
    odd = [mutated_value(about), mutated_value(lines), changed_arrays(arrays)]
    one_odd = (st.tuples(*(odd[j] if i == j else same[j] for j in range(3))) for i in range(3))
    tried(st.one_of(*one_odd), 20 * examples, resume)


class Broken(Exception):
    pass


def _breaks(number, arrays):
    if number == 3:
        raise Broken


@pytest.fixture(scope="module")
def of_an_app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app")
    with pytest.raises(Broken):
        start(folder, evaluate_fn=_breaks)
    (folder / "checkpoint.before.safetensors").unlink()
    return (folder / "checkpoint.safetensors").read_bytes()


def start(folder, **given):
    return Clustered(checkpoint=folder).start(
        grid_of(6, groups=2, steps=5), initial(), num_rounds=4, **given
    )


@EXAMPLES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_checkpoints_of_apps_are_one_line_or_a_run(of_an_app, examples, tmp_path, monkeypatch):
    monkeypatch.setattr("tagma.server.state_file._finite", lambda array: True)
    arrays, about = unsealed(of_an_app)

    def resume(content):
        Path(tmp_path / "checkpoint.safetensors").write_bytes(content)
        start(tmp_path)

    def forged(change):
        own_about, ways = change
        own = {name: ways.get(name, np.asarray)(np.asarray(a)) for name, a in arrays.items()}
        return b"".join(sealed(own, own_about))

    forgeries = st.one_of(
        st.tuples(mutated_value(about), st.just({})),
        st.tuples(st.just(about), changed_arrays(arrays)),
    )
    tried(mutated(of_an_app) | forgeries.map(forged), 20 * examples, resume)
