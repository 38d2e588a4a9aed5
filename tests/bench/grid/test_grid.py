"""A grid runs once, whatever interrupts it, and its tables are the same afterwards."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from math import inf

import pyarrow.parquet as pq
import pytest

from tagma.bench.bench_command import main
from tagma.bench.grid.expand import expand
from tagma.bench.grid.metric import with_metric
from tagma.bench.grid.plan import read_plan
from tagma.bench.grid.table_rows import round_rows, table_rows
from tagma.bench.runner import Outcome
from tagma.errors import TagmaError
from tagma.report.run_reading import read_run

TAGMA = [sys.executable, "-c", "from tagma.launch.cli import main; main()"]
SAME = [f"{n}.{kind}" for n in ("table", "rounds", "iterations") for kind in ("csv", "parquet")]


def table(folder, name="table"):
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("cells/*.json")}


@pytest.mark.multiprocess
def test_a_folder_holds_tables_provenance_pictures_and_the_command(grid_file, tmp_path):
    folder = tmp_path / "out"
    path = grid_file(reference=["strategy=oracle", "aggregation=mean"])
    main([path, "attack=[sign_flip,none]", f"bench.folder={folder}", "bench.workers=1"])
    rows = table(folder)
    assert [(row["attack"], row["defence"], row["seed"]) for row in rows] == [
        (attack, defence, seed)
        for attack in ("sign_flip", "none")
        for defence in ("plain", "paper")
        for seed in ("0", "1")
    ]
    for row in rows:
        kept = json.loads((folder / "cells" / f"{row['cell']}.json").read_text())
        assert row["status"] == "ok"
        assert float(row["estimation_error"]) == kept["metrics"]["estimation_error"]
        assert row["code"] == kept["provenance"]["code"]
        assert row["version"] == kept["metrics"]["version"]
        assert float(row["error_without_byzantine"]) > 0
        assert (folder / "cells" / row["cell"]).is_dir() == (row["seed"] == "0")
    picture = read_run(folder / "cells" / rows[0]["cell"])
    assert len(picture.clients) == 20
    assert picture.centres
    about = json.loads((folder / "bench.json").read_text())
    assert about["command"] == (
        f"tagma bench bench={path} 'attack=[sign_flip,none]' bench.folder={folder} bench.workers=1"
    )
    assert about["cells"] == {"total": 8, "done": 8, "failed": 0}
    assert [axis["role"] for axis in about["axes"]] == ["attack", "defence"]
    for name in ("table", "timings", "rounds", "iterations"):
        typed = pq.read_table(folder / f"{name}.parquet").to_pylist()
        assert [row["cell"] for row in typed] == [row["cell"] for row in table(folder, name)]
    assert len(table(folder, "rounds")) == 8 * 4
    assert not list(folder.glob("cells/*.claim"))


@pytest.mark.multiprocess
def test_after_kill_9_no_finished_cell_runs_again_and_the_tables_are_the_same(grid_file, tmp_path):
    command = [*TAGMA, "bench", grid_file(), "seeds=5", "bench.workers=2"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, f"bench.folder={killed}"], cwd=tmp_path)
    deadline = time.monotonic() + 600
    while len(stamps(killed)) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.0)  # for its workers to notice
    finished = stamps(killed)
    assert 4 <= len(finished) < 20
    for folder in (killed, whole):
        subprocess.run([*command, f"bench.folder={folder}"], cwd=tmp_path, check=True)
    assert finished.items() <= stamps(killed).items()
    for name in SAME:
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.multiprocess
def test_two_processes_share_the_work_of_one_folder(grid_file, tmp_path):
    command = [*TAGMA, "bench", grid_file(), "seeds=4", "bench.workers=1"]
    both, alone = tmp_path / "both", tmp_path / "alone"
    first = subprocess.Popen([*command, f"bench.folder={both}"], cwd=tmp_path)
    second = subprocess.Popen([*command, f"bench.folder={both}"], cwd=tmp_path)
    assert (first.wait(600), second.wait(600)) == (0, 0)
    subprocess.run([*command, f"bench.folder={alone}"], cwd=tmp_path, check=True)
    for name in SAME:
        assert (both / name).read_bytes() == (alone / name).read_bytes()


@pytest.mark.multiprocess
def test_a_changed_grid_runs_only_what_is_new(grid_file, tmp_path):
    folder = tmp_path / "out"
    options = [f"bench.folder={folder}", "bench.workers=1"]
    main([grid_file(), *options, "attack=none", "seeds=1"])
    first = stamps(folder)
    main([grid_file(), *options, "seeds=1"])
    assert len(first) == 2
    assert len(stamps(folder)) == 4
    assert first.items() <= stamps(folder).items()


@pytest.mark.multiprocess
def test_cells_that_fail_are_told_of_and_tried_again(grid_file, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "from tagma.strategies.aggregation.mean import mean\n"
        "def moody(updates):\n"
        "    if os.path.exists('luck'):\n        return mean(updates)\n"
        "    raise ArithmeticError('no such luck')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    moody = ["aggregation=mean", "aggregation._target_=mine.moody"]
    path = grid_file(axes={"defence": {"plain": ["aggregation=mean"], "moody": moody}})
    options = [path, f"bench.folder={tmp_path / 'out'}", "bench.workers=1", "seeds=1"]
    with pytest.raises(TagmaError, match=r"^1 of 2 cells failed"):
        main(options)
    plain, failed = table(tmp_path / "out")
    assert (plain["status"], failed["status"]) == ("ok", "failed")
    assert (
        failed["reason"]
        == "FederationError: strategy: ThreeStage.learn failed (ArithmeticError: no such luck)"
    )
    assert failed["estimation_error"] == ""
    about = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert about["cells"] == {"total": 2, "done": 1, "failed": 1}
    before = stamps(tmp_path / "out")
    (tmp_path / "luck").touch()
    main(options)
    assert before.items() < stamps(tmp_path / "out").items()
    assert [row["status"] for row in table(tmp_path / "out")] == ["ok", "ok"]


def test_a_diverged_error_is_infinite_and_a_cell_that_took_too_long_says_so(grid_file):
    plan = read_plan(grid_file(), ["attack=none", "seeds=1"])
    places = expand(plan)
    plan = with_metric(plan, places)
    metrics = {
        "scores": {
            "estimation_error": {"value": None, "per_round": [1.0, None]},
            "served_error": {"value": None, "per_round": [2.0, None]},
        },
        "misclustering": 0.5, "ari": 0.25, "oracle_error": None, "oracle_scores": None,
        "clusters": [{"suspect": None}, {"suspect": "why"}],
        "replies": {"used": 7, "rejected": {"late": 2, "not finite": 1}},
    }  # fmt: skip
    result = {"metrics": metrics, "provenance": {"python": "3"}}
    outcomes = {
        places[0].cell.key: Outcome(places[0].cell, result, None),
        places[1].cell.key: Outcome(places[1].cell, None, "timed out after 5 s", timed_out=True),
    }
    diverged, late = table_rows(plan, places, outcomes)
    assert diverged["estimation_error"] == diverged["served_error"] == inf
    assert (diverged["clusters_found"], diverged["suspects"]) == (2, 1)
    assert (diverged["replies_used"], diverged["replies_rejected"]) == (7, 3)
    assert (late["status"], late["reason"]) == ("timed out", "timed out after 5 s")
    points = [(row["round"], row["estimation_error"]) for row in round_rows(outcomes)]
    assert points == [(0, 1.0), (1, inf)]


@pytest.mark.multiprocess
def test_ray_gives_the_same_tables(grid_file, tmp_path):
    command = [*TAGMA, "bench", grid_file(), "seeds=1"]
    env = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    for runner in ("local", "ray"):
        options = [
            f"bench.folder={tmp_path / runner}",
            f"bench.runner={runner}",
            "bench.workers=1",
        ]
        subprocess.run([*command, *options], cwd=tmp_path, check=True, env=env)
    for name in SAME:
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
