"""Trackers hear of every round and of the end, and never of more than a run's observers do."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tagma.errors import TagmaError
from tagma.launch.engines import inprocess
from tagma.launch.oracle_run import with_oracle
from tagma.launch.run import check, run
from tagma.launch.tracking import tracker as tracking
from tagma.launch.tracking.tracker import (
    NoTracker,
    final_numbers,
    round_numbers,
    settings_by_key,
    tracked,
)
from tagma.plugins import build
from tagma.server.results.events import RoundFinished
from tagma.server.results.run_folder import read_metrics
from tagma.settings import Settings, compose
from tests.conftest import SMALL

EVENT = RoundFinished(1, 2, "local_model", {"estimation_error": 0.5}, 4, 1, 0, 0, 100, 50, 0.1)


class Recording(NoTracker):
    """Remembers what it is told; fails in the round it is asked to."""

    def __init__(self, fails_in: int = -1) -> None:
        self.rounds: list[int] = []
        self.ends: list[dict[str, Any] | None] = []
        self.fails_in = fails_in

    def round(self, event: RoundFinished) -> None:
        self.rounds.append(event.round)
        if event.round == self.fails_in:
            raise OSError("the server is gone")

    def end(self, metrics: dict[str, Any] | None, folder: Path) -> None:
        self.ends.append(metrics)


def tracked_run(path: Path, *overrides: str) -> dict[str, Any]:
    path.mkdir()
    settings = compose([*SMALL, "oracle=false", *overrides])
    run(settings, path)
    return read_metrics(path)


def test_without_a_tracker_nothing_but_the_run_folder_is_written(tmp_path: Path) -> None:
    tracked_run(tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert not (tmp_path / "out" / "tensorboard").exists()


@pytest.mark.parametrize("name", ["tensorboard", "mlflow", "wandb"])
def test_a_missing_extra_is_one_clear_line_before_anything_runs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "find_spec", lambda package: None)
    with pytest.raises(TagmaError, match=rf"^tracking={name}: .* pip install 'tagma\[{name}\]'$"):
        check(compose([*SMALL, f"tracking={name}"]))


def test_a_tracker_that_fails_ends_the_tracking_and_not_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fragile = Recording(fails_in=1)
    with tracked(fragile, compose(SMALL), tmp_path) as run:
        run.round(EVENT)
        run.round(EVENT)
        run.end({"misclustering": 0.0})
    assert fragile.rounds == [1]
    assert fragile.ends == []
    assert "tracking ends here: OSError: the server is gone" in capsys.readouterr().err


def test_a_run_that_breaks_off_ends_without_metrics_and_a_whole_one_ends_once(
    tmp_path: Path,
) -> None:
    broken, whole = Recording(), Recording()
    with pytest.raises(ZeroDivisionError), tracked(broken, compose(SMALL), tmp_path):
        _ = 1 / 0
    with tracked(whole, compose(SMALL), tmp_path) as run:
        run.end({"misclustering": 0.0})
    assert broken.ends == [None]
    assert whole.ends == [{"misclustering": 0.0}]


def test_a_tracker_that_cannot_begin_is_one_line(tmp_path: Path) -> None:
    class Absent(NoTracker):
        def begin(self, settings: Settings, folder: Path) -> None:
            raise OSError("no such server\nat all")

    with (
        pytest.raises(TagmaError, match=r"^tracking: cannot begin \(OSError: no such server\)$"),
        tracked(Absent(), compose(SMALL), tmp_path),
    ):
        pass


def test_every_score_and_the_bytes_are_numbers_of_each_round_and_of_the_end(
    tmp_path: Path,
) -> None:
    signs = ["task._target_=tests.report.signs_task.Signs", "evaluate_every=2", "attack=none"]
    rounds: list[dict[str, float]] = []

    class Rounds(NoTracker):
        def round(self, event: RoundFinished) -> None:
            rounds.append(round_numbers(event))

    settings = compose([*SMALL, *signs])
    with tracked(Rounds(), settings, tmp_path) as tracking:
        inprocess.run(settings, tmp_path, tracking.round)
    metrics = with_oracle(settings, read_metrics(tmp_path))
    curve = metrics["scores"]["accuracy"]["per_round"]
    assert [numbers.get("round/accuracy") for numbers in rounds] == curve
    assert [value is None for value in curve] == [True, False, True, False]
    final = final_numbers(metrics)
    for name in ("accuracy", "loss"):
        assert final[name] == metrics["scores"][name]["value"]
        assert final[f"oracle_{name}"] == metrics["oracle_scores"][name]["value"]
    assert final["bytes_up"] == sum(numbers["round/bytes_up"] for numbers in rounds) > 0
    assert final["bytes_down"] == sum(numbers["round/bytes_down"] for numbers in rounds) > 0


def test_settings_have_the_keys_that_a_user_writes() -> None:
    flat = settings_by_key(compose([*SMALL, "seed=7"]))
    assert (flat["seed"], flat["task.clients"], flat["rounds"]) == ("7", "20", "3")


@pytest.mark.slow
def test_tensorboard_has_every_round_and_the_final_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    metrics = tracked_run(tmp_path / "out", "tracking=tensorboard")
    log = EventAccumulator(str(tmp_path / "out" / "tensorboard")).Reload()
    errors = [(point.step, point.value) for point in log.Scalars("round/estimation_error")]
    expected = list(enumerate(metrics["estimation_error_per_round"], start=1))
    assert errors == [(step, pytest.approx(value)) for step, value in expected]
    final = log.Scalars("final/misclustering")[0].value
    assert final == pytest.approx(metrics["misclustering"])
    text = log.Tensors("settings/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "task.clients: 20" in text


@pytest.mark.slow
def test_mlflow_has_settings_rounds_final_numbers_and_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    metrics = tracked_run(tmp_path / "out", "tracking=mlflow", f"tracking.uri={uri}")
    client = mlflow.MlflowClient(uri)
    home = client.get_experiment_by_name("tagma").experiment_id
    (found,) = client.search_runs([home])
    assert found.info.status == "FINISHED"
    assert found.data.params["task.clients"] == "20"
    assert found.data.metrics["estimation_error"] == metrics["estimation_error"]
    history = client.get_metric_history(found.info.run_id, "round/estimation_error")
    assert [point.value for point in history] == metrics["estimation_error_per_round"]
    kept = {artifact.path for artifact in client.list_artifacts(found.info.run_id)}
    assert {"report.html", "metrics.json"} <= kept
    copy = client.download_artifacts(found.info.run_id, "metrics.json", str(tmp_path))
    assert json.loads(Path(copy).read_text()) == metrics


class Stand:
    """In the place of the package wandb: notes what is asked of it, and refuses what is unknown."""

    def __init__(self) -> None:
        self.logged: list[dict[str, float]] = []
        self.summary: dict[str, float] = {}
        self.given: dict[str, Any] = {}
        self.files: list[str] = []
        self.codes: list[int] = []
        self.id = "abc"
        self.Settings = lambda *, silent, console, save_code, disable_git: None

    def init(self, *, project, entity, mode, dir, name, group, config, tags, settings, reinit):  # type: ignore[no-untyped-def]
        self.given = {"project": project, "mode": mode, "dir": dir, "name": name, "tags": tags}
        self.given |= {"group": group, "config": config}
        return self

    def define_metric(self, name: str, *, step_metric: str | None = None) -> None:
        pass

    def log(self, numbers: dict[str, float]) -> None:
        self.logged.append(numbers)

    def Artifact(self, name: str, *, type: str) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(add_file=lambda path: self.files.append(Path(path).name))

    def log_artifact(self, artifact: SimpleNamespace) -> None:
        pass

    def finish(self, *, exit_code: int = 0) -> None:
        self.codes.append(exit_code)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    made = Stand()
    monkeypatch.setitem(sys.modules, "wandb", made)
    monkeypatch.setattr(tracking, "find_spec", lambda package: made)
    return made


def test_wandb_has_settings_rounds_final_numbers_and_the_files(
    tmp_path: Path, stand: Stand
) -> None:
    metrics = tracked_run(tmp_path / "out", "tracking=wandb", "tracking.mode=offline")
    assert stand.given["config"]["task.clients"] == "20"
    assert (stand.given["project"], stand.given["mode"]) == ("tagma", "offline")
    assert (stand.given["dir"], stand.given["name"]) == (str(tmp_path / "out"), "out")
    rounds = [one for one in stand.logged if "round" in one]
    assert [one["round"] for one in rounds] == [1, 2, 3, 4]
    errors = [one["round/estimation_error"] for one in rounds]
    assert errors == metrics["estimation_error_per_round"]
    assert stand.summary["estimation_error"] == metrics["estimation_error"]
    assert stand.files == ["report.html", "metrics.json", "history.csv", "clusters.csv"]
    assert stand.codes == [0]


def test_wandb_is_told_of_a_run_that_breaks_off(tmp_path: Path, stand: Stand) -> None:
    settings = compose([*SMALL, "tracking=wandb"])
    tracker = build("tracking", settings.choice("tracking"))
    with pytest.raises(ZeroDivisionError), tracked(tracker, settings, tmp_path):
        _ = 1 / 0
    assert stand.codes == [1]


def test_a_wrong_mode_is_one_line(stand: Stand) -> None:
    with pytest.raises(TagmaError, match=r"^tracking\.mode=sometimes: "):
        check(compose([*SMALL, "tracking=wandb", "tracking.mode=sometimes"]))


@pytest.mark.slow
def test_wandb_offline_leaves_files_and_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    tracked_run(tmp_path / "out", "tracking=wandb", "tracking.mode=offline")
    (kept,) = tmp_path.glob("out/wandb/offline-run-*/run-*.wandb")
    content = kept.read_bytes()
    for word in (b"task.clients", b"round/estimation_error", b"served_error", b"metrics.json"):
        assert word in content
