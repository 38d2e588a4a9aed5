"""A run that breaks off is resumed from its last round, with the numbers it would have had."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from tagma.client.app import app as client_app
from tagma.errors import TagmaError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.plain_state import put_together
from tagma.server.checkpoint import CHECKPOINT, load_checkpoint
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
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
    grid = InProcessGrid(client, 20, join_overrides(settings.overrides))
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
    assert not (tmp_path / "b" / CHECKPOINT).exists()


ALGORITHMS = {
    "fedavg": ["strategy=fedavg", "aggregation=centered_clipping",
               "aggregation.start=previous"],
    "fedprox": ["strategy=fedprox", "optimiser=local", "optimiser.step=0.1",
                "training.batch_size=7"],
    "ifca": ["strategy=ifca", "strategy.k=2", "aggregation=median"],
    "local": ["strategy=local", "optimiser=local", "optimiser.step=0.1"],
    "local, colluding": ["strategy=local", "attack=alie"],
    "oracle": ["strategy=oracle"],
    "rehearsed": ["attack=ipm", "attack.optimise=true"],
    "sampled": ["sampling.fraction=0.5"],
    "sampled fedavg": ["strategy=fedavg", "sampling.fraction=0.3"],
    "fedavg, garbage": ["strategy=fedavg", "attack=garbage"],
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


def test_a_neural_run_is_resumed_with_the_same_bytes(tmp_path):
    digits = [
        "task=rotated_digits", "task.clients=20", "task.clusters=2", "clustering.k=2", "rounds=3",
        "solver.epochs=2", "training.epochs=1", "attack=none",
    ]  # fmt: skip
    run(tmp_path / "a", digits=digits)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", digits=digits, dies_in=3)
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
    assert not (tmp_path / CHECKPOINT).exists()


@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle", b"\x00" * 64])
def test_a_file_that_is_no_checkpoint_is_one_clear_error(content, tmp_path):
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(TagmaError, match="cannot be read"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("models", lambda models: models[:, :-1]),
        ("labels", lambda labels: labels + 5),
        ("local_models", lambda local_models: local_models[1:]),
    ],
)
def test_a_checkpoint_whose_parts_do_not_fit_is_one_clear_error(name, damage, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, dies_in=3)
    with safe_open(tmp_path / CHECKPOINT, framework="numpy") as file:
        about = file.metadata()
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    place = f"state.clustered.{name}"
    tensors[place] = np.ascontiguousarray(damage(tensors[place]))
    save_file(tensors, tmp_path / CHECKPOINT, metadata=about)
    with pytest.raises(TagmaError, match=r"checkpoint.safetensors: does not fit"):
        run(tmp_path, "resume=true")


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
    done = tagma("resume", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "misclustered honest clients" in done.stdout
    assert (tmp_path / "out/report.html").exists()
    assert tagma("resume", "out", cwd=tmp_path).returncode == 2
