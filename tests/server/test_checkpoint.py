"""A run that breaks off is resumed from its last round, with the numbers it would have had."""

import errno
import json
import os
import re
from dataclasses import asdict

import numpy as np
import pytest
from safetensors.numpy import load_file

from tagma.client.app import app as client_app
from tagma.errors import TagmaError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.plain_state import put_together
from tagma.server.checkpoint import CHECKPOINTS, JOURNAL, can_be_resumed, load_checkpoint
from tagma.server.federation import run_federation
from tagma.server.journal import Journal, Mark
from tagma.server.results.run_folder import read_metrics
from tagma.server.results.settings_files import write_settings
from tagma.server.run_identity import identity_of
from tagma.server.state_file import sealed, unsealed
from tagma.settings import compose, join_overrides
from tagma.strategies.algorithms.three_stage import ThreeStageState
from tagma.wire import round_of
from tests.command import tagma, tagma_process
from tests.conftest import SMALL


class Dies(Exception):
    pass


def run(folder, *overrides, dies_in=None, digits=None):
    """Run a small federation whose server may die in the middle of a round."""

    def client(message, context):
        if dies_in is not None and round_of(message) == dies_in:
            raise KeyboardInterrupt
        return client_app(message, context)

    settings = compose([*(digits or [*SMALL, "rounds=5"]), *overrides])
    clients = settings.choice("task")["clients"]
    grid = InProcessGrid(client, clients, join_overrides(settings.overrides))
    run_federation(grid, settings, folder, [])


def state_in(folder):
    found = load_checkpoint(folder)
    return put_together(ThreeStageState, found.state, found.tensors)


def whole(folder):
    metrics = read_metrics(folder)
    for varies in ("seconds", "messages", "bytes", "warnings", "participation"):
        metrics.pop(varies)
    return json.dumps(metrics), load_file(folder / "models.safetensors")["models"]


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["poisoned_regression", "sign_flip", "ipm", "infiltrate"])
@pytest.mark.parametrize("dies_in", [2, 4, 6])
def test_a_resumed_run_has_the_numbers_of_one_that_was_not_interrupted(attack, dies_in, tmp_path):
    run(tmp_path / "a", f"attack={attack}")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", f"attack={attack}", dies_in=dies_in)
    assert load_checkpoint(tmp_path / "b").round == dies_in - 1
    assert not (tmp_path / "b/metrics.json").exists()
    run(tmp_path / "b", f"attack={attack}", "resume=true")
    assert whole(tmp_path / "a")[0] == whole(tmp_path / "b")[0]
    assert np.array_equal(whole(tmp_path / "a")[1], whole(tmp_path / "b")[1])
    metrics = read_metrics(tmp_path / "b")
    assert metrics["participation"]["resumed_before_round"] == [dies_in]
    rows = [(tmp_path / run / "history.csv").read_text().splitlines() for run in ("a", "b")]
    assert [row.rsplit(",", 3)[0] for row in rows[0]] == [row.rsplit(",", 3)[0] for row in rows[1]]
    assert not list((tmp_path / "b").glob("*checkpoint*"))


ALGORITHMS = {
    "fedavg": ["strategy=fedavg", "aggregation=centered_clipping",
               "aggregation.start=previous"],
    "fedprox": ["strategy=fedprox", "optimiser=local", "optimiser.step=0.1",
                "training.batch_size=7"],
    "ifca": ["strategy=ifca", "strategy.k=2", "aggregation=median"],
    "cfl": ["strategy=cfl", "aggregation=median"],
    "cfl, sampled": ["strategy=cfl", "optimiser=local", "optimiser.step=0.1", "attack=none",
                     "strategy.eps1=10", "strategy.gamma=0", "sampling.fraction=0.5"],
    "threshold": ["strategy=threshold"],
    "threshold, sampled": ["strategy=threshold", "optimiser=local", "optimiser.step=0.1",
                           "sampling.fraction=0.5"],
    "local": ["strategy=local", "optimiser=local", "optimiser.step=0.1"],
    "local, colluding": ["strategy=local", "attack=alie"],
    "oracle": ["strategy=oracle"],
    "rehearsed": ["attack=ipm", "attack.optimise=true"],
    "sampled": ["sampling.fraction=0.5"],
    "sampled fedavg": ["strategy=fedavg", "sampling.fraction=0.3"],
    "fedavg, garbage": ["strategy=fedavg", "attack=garbage"],
    "fedavg, history": ["strategy=fedavg", "aggregation=foolsgold", "sampling.fraction=0.5"],
    "fedavg, predictions": ["strategy=fedavg", "aggregation=fldetector", "aggregation.window=1",
                            "sampling.fraction=0.7"],
    "fedavg, noise": ["strategy=fedavg", "aggregation=flame"],
    "ifca, history": ["strategy=ifca", "strategy.k=2", "aggregation=foolsgold"],
    "ifca, garbage": ["strategy=ifca", "strategy.k=2", "attack=garbage", "sampling.fraction=0.5"],
}  # fmt: skip


@pytest.mark.parametrize("overrides", ALGORITHMS.values(), ids=ALGORITHMS)
def test_every_algorithm_is_resumed_with_the_same_bytes(overrides, tmp_path):
    run(tmp_path / "a", "attack=sign_flip", *overrides)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", "attack=sign_flip", *overrides, dies_in=4)
    run(tmp_path / "b", "attack=sign_flip", *overrides, "resume=true")
    assert whole(tmp_path / "a")[0] == whole(tmp_path / "b")[0]
    both = [(tmp_path / name / "models.safetensors").read_bytes() for name in ("a", "b")]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("preset", "dies_in"), [([], 3), (["preset=tagma"], 3), (["preset=tagma"], 4)]
)
def test_a_neural_run_is_resumed_with_the_same_bytes(preset, dies_in, tmp_path):
    digits = [
        *preset,
        "task=rotated_digits", "task.clients=20", "task.clusters=2", "clustering.k=2", "rounds=3",
        "solver.epochs=2", "training.epochs=1", "attack=none",
    ]  # fmt: skip
    run(tmp_path / "a", digits=digits)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", digits=digits, dies_in=dies_in)
    run(tmp_path / "b", "resume=true", digits=digits)
    both = [(tmp_path / name / "models.safetensors").read_bytes() for name in ("a", "b")]
    assert both[0] == both[1]


def test_a_checkpoint_reads_back_as_it_was_written(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, dies_in=3)
    state = state_in(tmp_path).clustered
    assert state.clients.tolist() == list(range(20))
    assert state.local_models.shape == (20, 5)
    assert state.clustering.trimmed.dtype == bool
    assert state.clustering.stopped == "fixed point"
    assert state.clustering.centre_history.shape[1:] == (2, 5)


def test_a_resumed_run_still_knows_what_it_holds_against_clients(tmp_path):
    settings = ("preset=tagma", "attack=infiltrate", "attack.fraction=0.2", "task.clients=20")
    run(tmp_path / "a", *settings)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", *settings, dies_in=5)
    before = state_in(tmp_path / "b").clustered.standing
    assert before.excluded.sum() >= 3
    run(tmp_path / "b", *settings, "resume=true")
    assert whole(tmp_path / "a")[0] == whole(tmp_path / "b")[0]
    assert sum(cluster["excluded"] for cluster in read_metrics(tmp_path / "b")["clusters"]) >= 3


def test_no_checkpoints_if_none_are_wanted(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "checkpoint_every=0", dies_in=3)
    assert not list(tmp_path.glob("*checkpoint*"))


@pytest.fixture
def every_round_to_disk(monkeypatch):
    """As if rounds were slow: the two state files take turns."""
    monkeypatch.setattr("tagma.server.checkpoint._SYNC_SECONDS", 0.0)


@pytest.fixture
def only_the_first_round_to_disk(monkeypatch):
    """As if rounds were very fast."""
    monkeypatch.setattr("tagma.server.checkpoint._SYNC_SECONDS", 1e9)


def broken_off(folder, *overrides, dies_in=4):
    """A run that died in a round, and its newest state file."""
    with pytest.raises(KeyboardInterrupt):
        run(folder, *overrides, dies_in=dies_in)
    return folder / load_checkpoint(folder).file


def in_folder(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_folder_and_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def same_results(one, other):
    assert whole(one)[0] == whole(other)[0]
    models = [(folder / "models.safetensors").read_bytes() for folder in (one, other)]
    assert models[0] == models[1]


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "torn": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "too long": lambda content: content + b"0",
    "a changed array": lambda content: flipped(content, -9),
    "a changed header": lambda content: flipped(content, content.index(b"joined")),
    "something else": lambda content: b"\x80\x04pickle",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_state_file_costs_one_round_and_no_result(damage, tmp_path, every_round_to_disk):
    run(tmp_path / "a")
    newest = broken_off(tmp_path / "b")
    newest.write_bytes(damage(newest.read_bytes()))
    found = load_checkpoint(tmp_path / "b")
    assert found.round == 2
    assert found.warning.startswith(f"{newest}: cannot be read (")
    assert found.warning.endswith(f"; going on after round 2, from {found.file}")
    run(tmp_path / "b", "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")
    assert read_metrics(tmp_path / "b")["participation"]["resumed_before_round"] == [3]


def test_the_last_state_on_the_disk_is_not_written_to(tmp_path, only_the_first_round_to_disk):
    run(tmp_path / "a")
    newest = broken_off(tmp_path / "b")
    assert load_checkpoint(tmp_path / "b").round == 3
    newest.write_bytes(newest.read_bytes()[:100])
    assert load_checkpoint(tmp_path / "b").round == 1
    run(tmp_path / "b", "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")


def test_what_was_resumed_from_stays_until_there_is_something_newer(tmp_path, every_round_to_disk):
    run(tmp_path / "a")
    newest = broken_off(tmp_path / "b")
    newest.write_bytes(b"")
    for _ in range(2):  # dies before it has written anything
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "b", "resume=true", dies_in=3)
        assert load_checkpoint(tmp_path / "b").round == 2
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", "resume=true", dies_in=5)
    assert load_checkpoint(tmp_path / "b").round == 4
    assert load_checkpoint(tmp_path / "b").warning is None
    run(tmp_path / "b", "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")
    assert read_metrics(tmp_path / "b")["participation"]["resumed_before_round"] == [3, 5]


def test_a_torn_line_of_the_journal_costs_one_round_and_no_result(tmp_path, every_round_to_disk):
    refuses = ("strategy=fedavg", "attack=garbage")
    run(tmp_path / "a", *refuses)
    broken_off(tmp_path / "b", *refuses)
    journal = tmp_path / "b" / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-30])
    assert load_checkpoint(tmp_path / "b").round == 2
    run(tmp_path / "b", *refuses, "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("tail", [b'{"event": {"rou', b"\x00\xff\n\n", b'{"event": {}}\n' * 3])
def test_a_journal_that_is_longer_than_its_checkpoint_is_cut(tail, tmp_path):
    run(tmp_path / "a")
    broken_off(tmp_path / "b")
    with (tmp_path / "b" / JOURNAL).open("ab") as file:
        file.write(tail)
    assert load_checkpoint(tmp_path / "b").round == 3
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", "resume=true", dies_in=5)
    assert load_checkpoint(tmp_path / "b").round == 4
    run(tmp_path / "b", "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")


def test_rounds_after_the_last_checkpoint_are_played_again(tmp_path):
    run(tmp_path / "a", "checkpoint_every=2")
    broken_off(tmp_path / "b", "checkpoint_every=2", dies_in=6)
    assert load_checkpoint(tmp_path / "b").round == 4
    assert len((tmp_path / "b/history.csv").read_text().splitlines()) == 1 + 5
    run(tmp_path / "b", "checkpoint_every=2", "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")
    assert len((tmp_path / "b/history.csv").read_text().splitlines()) == 1 + 6


def test_what_a_round_writes_does_not_grow(tmp_path):
    few = broken_off(tmp_path / "few", "rounds=60", dies_in=11)
    many = broken_off(tmp_path / "many", "rounds=60", dies_in=51)
    # The place in the journal may have more digits, and what is padded is so to 8 bytes.
    assert abs(many.stat().st_size - few.stat().st_size) <= 8
    lines = (tmp_path / "many" / JOURNAL).read_bytes().splitlines()
    assert len(lines) == 50
    assert max(map(len, lines[1:])) <= 1.1 * min(map(len, lines[1:]))


@pytest.mark.parametrize("name", [*CHECKPOINTS, JOURNAL])
def test_where_nothing_can_be_read_nothing_is_lost(name, tmp_path):
    broken_off(tmp_path)
    (tmp_path / name).write_bytes(b"\x80\x04pickle")
    if name != JOURNAL:
        (other,) = set(CHECKPOINTS) - {name}
        (tmp_path / other).unlink()
    (tmp_path / "metrics.json").write_text("{}")
    before = in_folder(tmp_path)
    done = tagma("resume", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"tagma: error: \S+: cannot be read \(.*\)\n", done.stderr)
    with pytest.raises(TagmaError, match="cannot be read"):
        run(tmp_path, "resume=true")
    assert in_folder(tmp_path) == before
    assert can_be_resumed(tmp_path)


def test_a_folder_without_a_checkpoint_is_one_clear_error(tmp_path):
    with pytest.raises(TagmaError, match=r": there is no checkpoint to resume from$"):
        load_checkpoint(tmp_path)
    assert not can_be_resumed(tmp_path)


def forged(folder, arrays=lambda arrays: None, about=lambda about: None, line=None, *, alone=True):
    """Change what a broken off run left, with checksums that are right."""
    newest = folder / load_checkpoint(folder).file
    for other in set(CHECKPOINTS) - {newest.name} if alone else ():
        (folder / other).unlink(missing_ok=True)
    found, text = unsealed(newest.read_bytes())
    if line is not None:
        rounds = [json.loads(each) for each in (folder / JOURNAL).read_text().splitlines()]
        rounds[-1] = line(rounds[-1])
        (folder / JOURNAL).unlink()
        journal = Journal(folder / JOURNAL, Mark())
        for each in rounds:
            journal.append(each)
        journal.close()
        text["journal"] = asdict(journal.mark)
    arrays(found)
    about(text)
    newest.write_bytes(b"".join(sealed(found, text)))
    return newest


def with_array(name, change):
    place = f"state.clustered.{name}"
    return lambda arrays: arrays.update({place: change(arrays[place])})


def with_nan(array):
    return np.where(np.arange(array.size).reshape(array.shape) == 3, np.nan, array)


@pytest.mark.parametrize(
    "changes",
    [
        {"arrays": with_array("models", lambda models: models[:, :-1])},
        {"arrays": with_array("labels", lambda labels: labels + 5)},
        {"arrays": with_array("local_models", lambda local_models: local_models[1:])},
        {"arrays": lambda arrays: arrays.pop("state.clustered.models")},
        {"about": lambda about: about.update(state=[])},
        {"about": lambda about: about.update(joined=[[10**30, 1]])},
        {"arrays": with_array("models", lambda models: models.astype(np.float32))},
        {"arrays": with_array("labels", lambda labels: labels.astype(float))},
        {"arrays": with_array("trimmed", lambda trimmed: trimmed.astype(int))},
        {"arrays": lambda arrays: arrays.update({"buffers.0.mean": np.ones(5)})},
        {
            "arrays": lambda arrays: arrays.update(
                {"attack.clients": np.array([1]), "attack.vectors": np.ones((1, 4))}
            )
        },
        {"line": lambda line: line | {"event": line["event"] | {"round": 7}}},
        {"line": lambda line: line | {"event": line["event"] | {"scores": {}}}},
        {"line": lambda line: line | {"seconds": {"idling": 1.0}}},
    ],
)
def test_a_checkpoint_whose_parts_do_not_fit_is_one_clear_error(changes, tmp_path):
    broken_off(tmp_path)
    forged(tmp_path, **changes)
    before = in_folder(tmp_path)
    with pytest.raises(TagmaError, match=r"checkpoint\.[ab]\.safetensors: does not fit"):
        run(tmp_path, "resume=true")
    assert in_folder(tmp_path) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"about": lambda about: about.clear()},
        {"about": lambda about: about.update(overrides=[1])},
        {"about": lambda about: about.update(joined={"a": "b"})},
        {"about": lambda about: about.update(journal={"length": 10**30, "checksum": 0})},
        {"about": lambda about: about.update(journal={"length": -1, "checksum": 0})},
        {"arrays": lambda arrays: arrays.update({"buffers.x": np.ones(1)})},
        {"line": lambda line: None},
        {"line": lambda line: [line]},
        {"line": lambda line: line | {"more": 1}},
        {"line": lambda line: {"event": line["event"]}},
        {"line": lambda line: line | {"rejected": [["1", "late"]]}},
        {"line": lambda line: line | {"rejected": [[1, "late", 2]]}},
        {"line": lambda line: line | {"event": line["event"] | {"scores": {"loss": "0"}}}},
        {"line": lambda line: line | {"seconds": {"evaluation": 10**400}}},
    ],
)
def test_hostile_contents_are_one_clear_error(changes, tmp_path):
    broken_off(tmp_path)
    forged(tmp_path, **changes)
    with pytest.raises(TagmaError, match=r"checkpoint\.[ab]\.safetensors: cannot be read"):
        load_checkpoint(tmp_path)


OF_ANOTHER = {
    "numbers that are not finite": {"arrays": with_array("models", with_nan)},
    "numbers that are not finite, in what is remembered": {
        "arrays": with_array("local_models", with_nan)
    },
    "another dtype": {"arrays": with_array("models", lambda models: models.astype(np.float32))},
    "labels that are no labels": {"arrays": with_array("labels", lambda labels: labels * 1.0)},
    "another shape": {"arrays": with_array("models", lambda models: models[:, :-1])},
    "another version": {"about": lambda about: about.update(version="0.0")},
    "another run": {"about": lambda about: about.update(run="0" * 32)},
}  # fmt: skip


@pytest.mark.parametrize("changes", OF_ANOTHER.values(), ids=OF_ANOTHER)
def test_what_cannot_be_this_runs_is_not_gone_on_from(
    changes, tmp_path, every_round_to_disk, monkeypatch, caplog
):
    run(tmp_path / "a")
    broken_off(tmp_path / "b")
    if "arrays" in changes:  # as if it had been so when it was written
        monkeypatch.setattr("tagma.server.state_file._finite", lambda array: True)
    newest = forged(tmp_path / "b", **changes, alone=False)
    monkeypatch.undo()
    run(tmp_path / "b", "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")
    assert read_metrics(tmp_path / "b")["participation"]["resumed_before_round"] == [3]
    (warning,) = [r.getMessage() for r in caplog.records if "going on after" in r.getMessage()]
    assert warning.startswith(f"{newest}: ")
    assert "\n" not in warning


def test_models_beyond_what_replies_may_be_are_gone_on_with(tmp_path):
    diverges = ("optimiser.step=1e140", "rounds=8", "strategy=fedavg", "aggregation=mean")
    with np.errstate(all="ignore"):
        run(tmp_path / "a", *diverges)
        newest = broken_off(tmp_path / "b", *diverges, dies_in=7)
        model = unsealed(newest.read_bytes())[0]["state.model"]
        assert np.abs(model).max() > 1e150
        run(tmp_path / "b", *diverges, "resume=true")
    same_results(tmp_path / "a", tmp_path / "b")


def test_the_files_of_another_run_are_not_gone_on_from(tmp_path):
    broken_off(tmp_path / "a")
    broken_off(tmp_path / "b", "seed=1")
    write_settings(tmp_path / "a", compose([*SMALL, "rounds=5"]))
    for path in (tmp_path / "b").iterdir():
        (tmp_path / "a" / path.name).write_bytes(path.read_bytes())
    before = in_folder_and_below(tmp_path / "a")
    done = tagma("resume", "a", cwd=tmp_path)
    assert done.returncode == 2
    name = load_checkpoint(tmp_path / "a").file
    said = f"tagma: error: a/{name}: is another run's, with other settings\n"
    assert done.stderr == said
    assert in_folder_and_below(tmp_path / "a") == before
    with pytest.raises(TagmaError, match="is another run's"):
        run(tmp_path / "a", "resume=true")


def test_what_may_change_or_lies_elsewhere_is_still_the_same_run():
    first = ["task=table", "task.data=here.csv", "engine=ray"]
    second = ["task=table", "task.data=/there.csv", "rounds=7", "resume=true", "output=x"]
    assert identity_of(compose(first)) == identity_of(compose(second))
    assert identity_of(compose(first)) != identity_of(compose([*first, "seed=1"]))
    assert identity_of(compose(first)) != identity_of(compose([*first, "attack.fraction=0.1"]))


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    broken_off(tmp_path)
    forged(tmp_path, about=lambda about: about.update(version="0.0"))
    with pytest.raises(TagmaError, match=r"was written by version 0\.0 of Tagma"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("rounds", [1, 2])
def test_there_must_be_rounds_left_to_resume(rounds, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, dies_in=4)
    with pytest.raises(TagmaError, match=f"rounds={rounds}: 2 are done already"):
        run(tmp_path, f"rounds={rounds}", "resume=true")


def test_a_client_that_is_gone_after_a_resume_is_reported(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, dies_in=4)
    settings = compose([*SMALL, "rounds=5", "resume=true", "start_timeout=0.01"])
    grid = InProcessGrid(client_app, 19, join_overrides(settings.overrides))
    run_federation(grid, settings, tmp_path, [])
    metrics = read_metrics(tmp_path)
    assert metrics["participation"]["rounds_missed"] == {"19": 3}
    assert "client 19 was away in 3 rounds" in metrics["warnings"]


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    def meddler(message, context):
        if round_of(message) == 3:
            with pytest.raises(TagmaError, match="another run is still writing there"):
                run(tmp_path)
        return client_app(message, context)

    settings = compose([*SMALL, "rounds=5"])
    grid = InProcessGrid(meddler, 20, join_overrides(settings.overrides))
    run_federation(grid, settings, tmp_path, [])
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 7
    run(tmp_path)  # and afterwards the folder is free


BROKEN = """
from tagma.attacks.base import LocalAttack
import os, pathlib
class Dying(LocalAttack):
    def forge(self, honest, view):
        history = pathlib.Path("out/history.csv")
        rounds = history.read_text().count("\\n") if history.exists() else 0
        if rounds == 4 and not os.path.exists("resumed"):
            os._exit(9)
        return honest
"""


@pytest.mark.multiprocess
def test_one_command_goes_on_with_a_run_that_was_killed(tmp_path):
    (tmp_path / "mine.py").write_text(BROKEN)
    own = ["attack=sign_flip", "attack._target_=mine.Dying", "~attack.scale", "oracle=false"]
    done = tagma_process("run", *SMALL, "rounds=5", *own, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 9
    (tmp_path / "resumed").touch()
    refused = tagma("resume", "out", "seed=3", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("tagma: error: seed=3: cannot be changed")
    refused = tagma("resume", "out", cwd=tmp_path)
    assert refused.returncode == 2
    assert "mine.Dying (attack._target_), which is not Tagma's own" in refused.stderr
    done = tagma("resume", "out", "--trust", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "misclustered honest clients" in done.stdout
    assert (tmp_path / "out/report.html").exists()
    assert tagma("resume", "out", cwd=tmp_path).returncode == 2


def test_a_checkpoint_is_not_written_through_a_link(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "run"
    broken_off(folder)
    newest = load_checkpoint(folder).file
    (other,) = (folder / name for name in CHECKPOINTS if name != newest)
    other.unlink(missing_ok=True)
    other.symlink_to(precious)
    run(folder, "resume=true")
    assert precious.read_text() == "mine"


def test_a_linked_checkpoint_or_journal_is_not_read(tmp_path):
    broken_off(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / JOURNAL).rename(elsewhere)
    (tmp_path / JOURNAL).symlink_to(elsewhere)
    with pytest.raises(TagmaError, match=f"{JOURNAL} is no file"):
        load_checkpoint(tmp_path)


def test_a_pipe_for_a_journal_is_refused_at_once(tmp_path):
    broken_off(tmp_path)
    (tmp_path / JOURNAL).unlink()
    os.mkfifo(tmp_path / JOURNAL)
    with pytest.raises(TagmaError, match=f"{JOURNAL} is no file"):
        load_checkpoint(tmp_path)


def test_a_disk_too_small_for_the_first_state_leaves_nothing_to_resume_from(tmp_path, monkeypatch):
    def half(*args):
        yield b"half of a state"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tagma.server.checkpoint._packed", half)
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path)
    assert not can_be_resumed(tmp_path)
