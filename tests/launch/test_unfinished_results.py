"""A run that is killed when its rounds are over, but not what comes after them."""

import json

import pytest

import tagma as library
from tests.command import tagma
from tests.conftest import SMALL

RUN = ["run", *SMALL, "rounds=2", "evaluate=false"]
PARTIAL = ".report.html." + "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    desk = tmp_path_factory.mktemp("whole")
    assert tagma(*RUN, "hydra.run.dir=out", cwd=desk).returncode == 0
    return desk / "out"


@pytest.fixture(params=["with_oracle", "write_run_report", "remove_checkpoints"])
def killed(request, tmp_path, monkeypatch):
    """The folder of a run that died in this function, once its rounds were over."""

    def dies(*_):
        if not (tmp_path / "out/metrics.json").exists():
            return
        raise KeyboardInterrupt

    place = "server.federation" if request.param == "remove_checkpoints" else "launch.run"
    monkeypatch.setattr(f"tagma.{place}.{request.param}", dies)
    done = tagma(*RUN, "hydra.run.dir=out", cwd=tmp_path)
    monkeypatch.undo()
    assert done.returncode == 130
    assert "go on from its last round with: tagma resume" in done.stderr
    out = tmp_path / "out"
    assert (out / "metrics.json").exists()
    assert not (out / "report.html").exists()
    (out / PARTIAL).write_text("<html>")
    return out


def said_of(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    for varies in ("seconds", "messages", "bytes", "warnings", "participation"):
        del metrics[varies]
    return metrics


def names(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_it_is_resumed_to_the_whole_result(killed, whole):
    done = tagma("resume", "out", cwd=killed.parent)
    assert done.returncode == 0, done.stderr
    assert "report: out/report.html" in done.stdout
    assert said_of(killed) == said_of(whole)
    assert (killed / "models.safetensors").read_bytes() == (
        whole / "models.safetensors"
    ).read_bytes()
    assert names(killed) == names(whole)
    again = tagma("resume", "out", cwd=killed.parent)
    assert again.stderr == "tagma: error: out: there is no checkpoint to resume from\n"


def test_its_report_is_made_of_what_there_is(killed, whole):
    done = tagma("report", "out", cwd=killed.parent)
    assert done.returncode == 0, done.stderr
    assert (killed / "report.html").exists()
    assert not (killed / PARTIAL).exists()


def test_a_journal_without_a_state_goes_with_the_report(whole):
    (whole / "checkpoint.rounds.jsonl").write_text("{}\n")
    assert tagma("report", "out", cwd=whole.parent).returncode == 0
    assert not (whole / "checkpoint.rounds.jsonl").exists()


def test_python_resumes_it_too_and_takes_no_new_settings(tmp_path, whole, monkeypatch):
    monkeypatch.chdir(whole.parent)
    report = (whole / "report.html").read_text()
    (whole / "report.html").unlink()
    with pytest.raises(library.TagmaError, match="all rounds are over; resume it without"):
        library.resume("out", "rounds=5")
    assert library.resume("out").metrics["oracle_error"] is not None
    assert len((whole / "report.html").read_text()) == pytest.approx(len(report), rel=0.01)
