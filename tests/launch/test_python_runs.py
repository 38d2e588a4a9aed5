"""tagma.run, tagma.resume, tagma.load and what a run offers, as a user has them."""

import json
import logging
import os
import random
import shutil
import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from safetensors.numpy import load_file, save_file

import tagma
from tagma import TagmaError, TagmaWarning
from tagma.choices import CONF
from tagma.launch import python_runs
from tagma.server.results.events import RoundFinished
from tests.command import tagma as command
from tests.conftest import SMALL
from tests.launch.test_foreign_folders import EVIL

QUICK = [*SMALL, "oracle=false"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return tagma.run(*QUICK, "attack=alie", folder=tmp_path_factory.mktemp("made") / "out")


@pytest.fixture
def copy(finished, tmp_path):
    """The same run in a folder that may be damaged."""
    shutil.copytree(finished.folder, tmp_path / "copy")
    return tmp_path / "copy"


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_run_from_python_has_the_numbers_of_the_command(finished, tmp_path):
    done = command("run", *QUICK, "attack=alie", "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    theirs = json.loads((tmp_path / "out/metrics.json").read_text())
    ours = finished.metrics
    for name in ("estimation_error_per_round", "misclustering", "clusters", "replies", "engine"):
        assert ours[name] == theirs[name]
    names = {path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*")}
    assert names == {path.relative_to(finished.folder) for path in finished.folder.rglob("*")}


def test_what_a_run_offers(finished):
    assert list(finished.history["round"]) == [1, 2, 3, 4]
    assert finished.history["estimation_error"].iloc[-1] == pytest.approx(
        finished.metrics["estimation_error"]
    )
    assert len(finished.clients) == 20
    assert finished.clients["byzantine"].sum() == 6
    assert finished.settings["task"]["clients"] == 20
    assert finished.settings["clustering"]["k"] == 2
    stored = load_file(finished.folder / "models.safetensors")["models"]
    assert {k: list(model) for k, model in finished.models.items()} == {
        0: ["coefficients"], 1: ["coefficients"],
    }  # fmt: skip
    assert np.array_equal(finished.models[1]["coefficients"], stored[1])
    assert "<svg" in finished.plot("clients").svg
    assert finished.plot("clients")._repr_html_().startswith("<img")
    assert repr(finished).startswith(f"<Run {finished.folder}: ")


def test_settings_of_a_run_of_the_command_are_resolved(tmp_path):
    command("run", *QUICK, "hydra.run.dir=out", cwd=tmp_path)
    settings = tagma.load(tmp_path / "out").settings
    assert settings["clustering"]["k"] == 2
    assert settings["training"]["learning_rate"] == settings["optimiser"]["step"] == 1.0
    (tmp_path / "out/.hydra/config.yaml").write_text("a: ${b}\nb: ${a}\nc: ${c}\n")
    assert tagma.load(tmp_path / "out").settings["c"] == "${c}"  # there is no value at its end


def test_predictions_are_those_of_the_cluster_that_is_named_or_found(finished):
    inputs = np.random.default_rng(0).normal(size=(60, 5))
    for k in (0, 1):
        model = finished.models[k]["coefficients"]
        assert np.allclose(finished.predict(inputs, cluster=k), inputs @ model)
        found = finished.assign(inputs, inputs @ model)
        assert (found.cluster, found.nearest) == (k, k)
        assert found.loss == pytest.approx(0, abs=1e-12)
        chosen = finished.predict(inputs, targets=inputs @ model)
        assert np.allclose(chosen, inputs @ model)
    assert finished.assign(inputs, 100 * inputs.sum(axis=1)).cluster is None


def test_without_pandas_tables_are_arrays(finished, monkeypatch):
    monkeypatch.setattr("tagma.launch.frames.find_spec", lambda name: None)
    clients = finished.clients
    assert clients["client"].tolist() == list(range(20))
    assert clients["byzantine"].dtype == bool
    assert finished.history["work"].tolist()[0] == "local_model"


def test_the_summary_is_whole_in_itself_and_escaped(copy):
    metrics = json.loads((copy / "metrics.json").read_text())
    metrics["warnings"] = ["<script>alert(1)</script>"]
    (copy / "metrics.json").write_text(json.dumps(metrics))
    html = tagma.load(copy)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "http" not in html
    run = tagma.load(copy)
    shutil.rmtree(copy)
    assert str(copy) in run._repr_html_()
    assert repr(run) == f"<Run {copy}>"


def test_results_go_to_a_folder_of_their_own_and_replace_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = (tagma.run(*QUICK, "rounds=1") for _ in range(2))
    assert first.folder != second.folder
    assert first.folder.parts[0] == "outputs"
    before = (first.folder / "metrics.json").read_bytes()
    with pytest.raises(TagmaError, match="holds a run already") as error:
        tagma.run(*QUICK, folder=first.folder)
    one_line(error)
    assert (first.folder / "metrics.json").read_bytes() == before
    again = tagma.run(*QUICK, "rounds=2", folder=first.folder, overwrite=True)
    assert len(again.history) == 3
    quoted = tagma.run(*QUICK, "rounds=1", "hydra.run.dir='a place'")
    assert quoted.folder == Path("a place")


def test_the_command_says_that_it_replaces_results(tmp_path):
    words = ("run", *QUICK, "rounds=1", "hydra.run.dir=out")
    assert "are replaced" not in command(*words, cwd=tmp_path).stderr
    assert "are replaced" in command(*words, cwd=tmp_path).stderr


def state_of_the_process():
    loggers = [logging.getLogger(name) for name in (None, "tagma", "flwr")]
    return (
        GlobalHydra.instance().hydra,
        [(list(each.handlers), each.level, each.propagate) for each in loggers],
        [*warnings.filters],
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        dict(os.environ), os.getcwd(), list(sys.path), list(sys.argv),
        torch.get_num_threads(), torch.get_rng_state().tolist(),
        np.random.get_state()[1].tolist(), random.getstate(),  # noqa: NPY002
        threading.active_count(),
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["inprocess", "vectorised"])
def test_the_process_is_left_as_it_was(engine, tmp_path, capfd):
    torch.set_num_threads(2)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        before = state_of_the_process()
        run = tagma.run(
            "task=images", "task.clients=4", "task.clusters=1", "task.samples=20", "rounds=1",
            "model=cnn", "attack=none", "oracle=false", engine=engine, folder=tmp_path / "out",
        )  # fmt: skip
        run.predict("digits", cluster=0)
        assert state_of_the_process() == before
    assert capfd.readouterr() == ("", "")
    assert "warning" not in (tmp_path / "out/run.log").read_text().lower()


def test_threads_take_turns_and_find_what_one_thread_finds(finished, tmp_path):
    found = {}

    def play(number):
        attack = "attack=alie" if number == 0 else "attack=none"
        found[number] = tagma.run(*QUICK, attack, folder=tmp_path / str(number))

    threads = [threading.Thread(target=play, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    error = "estimation_error_per_round"
    assert found[0].metrics[error] == finished.metrics[error]
    assert found[1].metrics[error] == found[2].metrics[error] != finished.metrics[error]


def test_what_changed_between_two_runs_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf/attack").mkdir(parents=True)
    choice = tmp_path / "conf/attack/mine.yaml"
    text = (CONF / "attack/sign_flip.yaml").read_text()
    words = [*QUICK, "attack=mine", f"hydra.searchpath=[file://{tmp_path}/conf]"]
    choice.write_text(text)
    first = tagma.run(*words, "attack.fraction=0.1")
    choice.write_text(text + "fraction: 0.4\n")
    assert tagma.run(*words).clients["byzantine"].sum() == 8
    assert first.clients["byzantine"].sum() == 2

    source = np.random.default_rng(0)
    inputs, task = source.normal(size=(80, 2)), ["task=table", "task.data=t.npz", "task.clients=4"]
    words = [*task, "attack=none", "clustering.k=1", "rounds=1", "oracle=false"]
    np.savez("t.npz", X=inputs, y=inputs[:, 0] > 0)
    tagma.run(*words)
    np.savez("t.npz", X=inputs[:, :1], y=inputs[:, 0] > 0)
    assert tagma.run(*words).models[0]["0.weight"].shape[1] == 1


def test_what_is_unwise_is_a_warning_at_the_line_that_asked_for_it(tmp_path):
    with pytest.warns(TagmaWarning, match="below the share") as caught:
        tagma.run(*QUICK, "aggregation.beta=0.1", "attack.fraction=0.3", folder=tmp_path / "out")
    assert {Path(each.filename) for each in caught} == {Path(__file__)}


class Interrupted:
    """Progress during which somebody presses Ctrl-C."""

    def __init__(self, title, *, wanted):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def round(self, event: RoundFinished):
        if event.round == 3:
            raise KeyboardInterrupt


def test_a_run_that_is_interrupted_can_be_gone_on_with(finished, tmp_path, monkeypatch):
    before = state_of_the_process()[1:]
    monkeypatch.setattr(python_runs, "ProgressLine", Interrupted)
    with pytest.raises(KeyboardInterrupt) as end:
        tagma.run(*QUICK, "attack=alie", folder=tmp_path / "out")
    monkeypatch.undo()
    assert "tagma.resume(" in end.value.__notes__[0]
    assert state_of_the_process()[1:] == before
    with pytest.raises(TagmaError, match="not finished; tagma"):
        tagma.load(tmp_path / "out")
    with pytest.raises(TagmaError, match="holds a run already"):
        tagma.run(*QUICK, folder=tmp_path / "out")
    with pytest.raises(TagmaError, match="cannot be changed in mid-run"):
        tagma.resume(tmp_path / "out", "seed=1")
    rest = tagma.resume(tmp_path / "out", engine="vectorised")
    errors = "estimation_error_per_round"
    assert rest.metrics[errors] == pytest.approx(finished.metrics[errors])
    assert rest.metrics["participation"]["resumed_before_round"] == [3]


MISUSES = {
    "unknown setting": (lambda: tagma.run("clustering.raduis=2"), "did you mean clustering.radius"),
    "unknown attack": (lambda: tagma.run("attack=aliee"), "attack=aliee"),
    "several values": (lambda: tagma.run("seed=1,2"), "seed=1,2"),
    "no text": (lambda: tagma.run({"attack": "alie"}), "settings are texts"),
    "an option": (lambda: tagma.run("--multirun"), "options of the command"),
    "a flag of Hydra": (lambda: tagma.run("hydra.job.chdir=true"), "for the command only"),
    "engine twice": (lambda: tagma.run("engine=ray", engine="ray"), "say it once"),
    "folder twice": (lambda: tagma.run("hydra.run.dir=a", folder="b"), "say it once"),
    "folder from elsewhere": (lambda: tagma.run("hydra.run.dir=${seed}"), "must be a path as it"),
    "folder that is no text": (lambda: tagma.run("hydra.run.dir='a"), "must be a path as it"),
    "resume": (lambda: tagma.run("resume=true"), "use tagma.resume"),
    "no folder": (lambda: tagma.load("nowhere"), "nowhere: there is no such folder"),
    "nothing to resume": (lambda: tagma.resume("nowhere"), "no checkpoint"),
    "folder of something else": (lambda: tagma.load("."), "is not the folder of a finished"),
    "folder that is a number": (lambda: tagma.run(*QUICK, folder=3), "folder=3: must be a path"),
    "no path": (lambda: tagma.load(None), "folder=None: must be a path"),
    "engine that is a number": (lambda: tagma.run(engine=3), "engine=3: must be a name"),
    "file as folder": (lambda: tagma.run(*QUICK, folder="a_file"), "a_file: cannot be made"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_one_clear_error_and_nothing_is_written(misuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a_file").touch()
    call, said = MISUSES[misuse]
    with pytest.raises(TagmaError) as error:
        call()
    assert said in one_line(error)
    assert os.listdir() == ["a_file"]


X = np.zeros((3, 5))
OF_A_RUN = {
    "another shape": (lambda run: run.predict(X[:, :4], cluster=0), "inputs have 4 columns"),
    "one example": (lambda run: run.predict(X[0], cluster=0), "inputs must be n rows"),
    "not finite": (lambda run: run.predict(X * np.nan, cluster=0), "not finite, in row 1"),
    "text": (lambda run: run.predict(X.astype(str), cluster=0), "must be real numbers"),
    "no examples": (lambda run: run.predict(X[:0], cluster=0), "has no examples"),
    "unknown cluster": (lambda run: run.predict(X, cluster=2), "there are 0 to 1"),
    "negative cluster": (lambda run: run.predict(X, cluster=-1), "there are 0 to 1"),
    "cluster by a word": (lambda run: run.predict(X, cluster="b"), "must be a number, 0 to 1"),
    "no cluster": (lambda run: run.predict(X), "cluster: name one of 0 to 1"),
    "no such file": (lambda run: run.predict("new.npz", cluster=0), "new.npz: "),
    "no targets": (lambda run: run.assign(X), "has no targets"),
    "targets of another number": (lambda run: run.assign(X, [1.0]), "not 3 rows"),
    "unknown figure": (lambda run: run.plot("clouds"), "there are misclustering"),
    "unknown ending": (lambda run: run.export("model.onnx", cluster=0), "must end in"),
    "no module": (lambda run: run.export("model.pt", cluster=0), "no torch module"),
}


@pytest.mark.parametrize("misuse", OF_A_RUN)
def test_misuse_of_a_run_is_one_clear_error(misuse, finished, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, said = OF_A_RUN[misuse]
    with pytest.raises(TagmaError) as error:
        call(finished)
    assert said in one_line(error)
    assert os.listdir() == []


@pytest.mark.parametrize("name", ["metrics.json", "history.csv", "clusters.csv"])
def test_a_file_that_is_no_longer_what_it_was_is_one_clear_error(name, copy):
    (copy / name).write_bytes(b"\xff\xfe")
    with pytest.raises(TagmaError, match="damaged") as error:
        tagma.load(copy)
    one_line(error)


@pytest.mark.parametrize("change", ["columns", "rows", "nan", "names", "bytes"])
def test_models_that_are_no_longer_what_they_were_are_one_clear_error(change, copy):
    file = copy / "models.safetensors"
    tensors = load_file(file)
    if change == "columns":
        for name in ("models", "centres", "origin"):
            tensors[name] = np.ascontiguousarray(tensors[name][..., :3])
        tensors["projection"] = np.ascontiguousarray(tensors["projection"][:, :3])
    elif change == "rows":
        tensors["models"] = tensors["models"][:1].copy()
    elif change == "nan":
        tensors["models"][0, 0] = np.nan
    elif change == "names":
        del tensors["1/coefficients"]
    save_file(tensors, file)
    if change == "bytes":
        file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(TagmaError) as error:
        tagma.load(copy).predict(X, cluster=0)
    one_line(error)


@pytest.mark.parametrize("setting", ["task.samples", "task.dim", "task.clients"])
def test_settings_that_do_not_fit_into_memory_are_one_clear_error(setting, copy):
    settings = copy / ".hydra/hydra.yaml"
    settings.write_text(settings.read_text().replace("attack=alie", f"{setting}={10**15}"))
    run = tagma.load(copy)
    for call in (lambda: run.predict(X, cluster=0), lambda: run.assign(X, X[:, 0])):
        with pytest.raises(TagmaError, match="do not fit into memory") as error:
            call()
        one_line(error)


def test_what_a_folder_names_is_imported_with_trust_only(copy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL)
    settings = copy / ".hydra/hydra.yaml"
    settings.write_text(settings.read_text().replace("attack=alie", "task._target_=evil.Attack"))
    run = tagma.load(copy)
    assert len(run.history) == len(run.metrics["estimation_error_per_round"])
    run.plot(), run.models, run.settings, run._repr_html_()
    for call in (lambda: run.predict(X, cluster=0), lambda: run.assign(X, X[:, 0])):
        with pytest.raises(TagmaError, match=r"evil.Attack.*trust=True") as error:
            call()
        one_line(error)
    assert not Path("was_run").exists()
    with pytest.raises(TagmaError):  # it is no task; but it was imported
        tagma.load(copy, trust=True).predict(X, cluster=0)
    assert Path("was_run").exists()
    assert str(tmp_path) not in sys.path
