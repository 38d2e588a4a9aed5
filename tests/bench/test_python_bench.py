"""tagma.benchmark and what it gives."""

import subprocess
import sys

import pytest

import tagma
from tagma import TagmaError, TagmaWarning
from tagma.bench import python_bench
from tests.command import tagma as command

GRID = {
    "title": "Two rules",
    "axes": {"attack": ["none", "sign_flip"], "aggregation": ["mean", "median"]},
    "common": ["rounds=1", "task.clients=12", "task.clusters=2", "task.dim=3", "task.samples=40"],
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "a folder"
    return tagma.benchmark(GRID, "seeds=2", "bench.workers=1", folder=folder)


def test_table_and_leaderboard_are_frames(bench):
    table, board = bench.table, bench.leaderboard
    assert len(table) == 8
    assert set(table["attack"]) == {"none", "sign_flip"}
    assert set(table["seed"]) == {0, 1}
    assert (table["status"] == "ok").all()
    assert table["estimation_error"].notna().all()
    assert list(board["rank"]) == [1, 2]
    worst = (
        table.groupby(["aggregation", "attack"])["estimation_error"].mean().unstack().max(axis=1)
    )
    scores = dict(zip(board["defence"], board["score"], strict=True))
    assert scores == pytest.approx({name: worst[name] for name in ("mean", "median")})


def test_figures_and_summary(bench):
    assert "<svg" in bench.plot("heatmap").svg
    html = bench._repr_html_()
    assert "<th>estimation error</th><th>worst under</th></tr>" in html
    assert "<td>median</td>" in html
    assert "<img" in html
    assert repr(bench).startswith(f"<Bench {bench.folder}: ")
    with pytest.raises(TagmaError, match="there is no such figure; there are leaderboard"):
        bench.plot("pie")


@pytest.mark.parametrize("name", ["a\\b", "it's", "at\\'s", "end\\", "a b,[c]={d}"])
def test_a_folder_may_be_called_anything(name, tmp_path, monkeypatch):
    class Planned(Exception):
        pass

    def stop(plan, *_):
        raise Planned(plan.folder)

    monkeypatch.setattr(python_bench, "run_grid", stop)
    with pytest.raises(Planned) as end:
        tagma.benchmark(GRID, folder=tmp_path / name)
    assert end.value.args[0] == tmp_path / name


def test_what_is_finished_never_runs_again(bench):
    before = {path: path.stat().st_mtime_ns for path in (bench.folder / "cells").rglob("*.json")}
    again = tagma.benchmark(GRID, "seeds=2", folder=bench.folder)
    after = {path: path.stat().st_mtime_ns for path in (bench.folder / "cells").rglob("*.json")}
    assert before == after
    assert list(again.table["cell"]) == list(bench.table["cell"])


def test_a_bench_of_the_command_is_read_and_one_of_python_reported(bench, tmp_path):
    done = command("report", str(bench.folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(tagma.Bench(bench.folder).table) == 8
    with pytest.raises(TagmaError, match="is the folder of a bench"):
        tagma.load(bench.folder)


def test_cells_that_fail_are_a_warning_and_rows_of_the_table(tmp_path):
    grid = GRID | {"axes": {"aggregation": ["median"]}, "timeout": 0.01}
    with pytest.warns(TagmaWarning, match="1 of 1 cells failed"):
        found = tagma.benchmark(grid, "seeds=1", "bench.workers=1", folder=tmp_path / "out")
    assert list(found.table["status"]) == ["timed out"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tagma.benchmark("quickk"), "there is no such grid; known: attacks"),
        (lambda: tagma.benchmark({"seeds": 1}), "must have `axes`"),
        (lambda: tagma.benchmark({"axes": {"attack": ["alie"]}, "seed": 1}), "bench.seed=1"),
        (lambda: tagma.benchmark(3), "must be the name of a grid"),
        (lambda: tagma.benchmark("quick", "rounds=-1"), "rounds=-1"),
        (lambda: tagma.benchmark("quick", seeds=2), "seeds"),
        (lambda: tagma.Bench("nowhere"), "bench.json is missing"),
    ],
)
def test_misuse_is_one_clear_error(call, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TagmaError, TypeError), match=said) as error:
        call()
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import tagma
print("once")
grid = {"axes": {"attack": ["none"]}, "seeds": 1, "common": ["rounds=1", "task.clients=5"]}
print(len(tagma.benchmark(grid, folder="out").table))
"""


@pytest.mark.multiprocess
def test_a_script_needs_no_guard_against_itself(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("once\n1\n", "")
