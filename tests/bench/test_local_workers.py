"""Processes that run cells: what one cell does, the others do not feel."""

import os
import time
from contextlib import closing
from dataclasses import dataclass

import pytest

from tagma.bench.grid.table_files import TEXT, write_table
from tagma.bench.local_workers import LocalWorkers
from tagma.bench.runner import run_cells


@dataclass(frozen=True)
class FakeCell:
    key: str
    does: str
    method: str = "fake"
    trial: int = 0

    def run(self):
        if self.does == "sleep":
            time.sleep(600)
        if self.does == "die":
            os._exit(7)
        if self.does == "fail":
            raise ArithmeticError("no such luck")
        if self.does == "fail strangely":
            raise ArithmeticError("no \ud800 luck")
        return {"process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}

    def whole(self, result):
        return "process" in result


def outcomes(cells, folder, **options):
    with closing(LocalWorkers(1, folder, **options)) as workers:
        return run_cells(cells, folder, workers=workers, progress=lambda counts: None)


@pytest.mark.multiprocess
def test_a_cell_that_takes_too_long_is_ended_and_the_next_gets_a_new_process(tmp_path):
    cells = [FakeCell("a", "work"), FakeCell("b", "sleep"), FakeCell("c", "work")]
    first, second, third = outcomes(cells, tmp_path, timeout=2.0)
    assert (second.result, second.error) == (None, "timed out after 2 s")
    assert second.timed_out
    assert first.result["process"] != third.result["process"]
    assert first.result["threads"] == "1"


@pytest.mark.multiprocess
def test_a_cell_that_ends_its_process_or_fails_is_told_of_and_the_next_ones_run(tmp_path):
    cells = [FakeCell("a", "die"), FakeCell("b", "fail"), FakeCell("c", "work")]
    first, second, third = outcomes(cells, tmp_path)
    assert first.error == "its process ended with exit code 7"
    assert second.error == "ArithmeticError: no such luck"
    assert third.result["process"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json"]


@pytest.mark.multiprocess
def test_a_reason_that_no_encoding_can_write_is_made_one_that_can_be(tmp_path):
    (only,) = outcomes([FakeCell("a", "fail strangely")], tmp_path)
    assert only.error == r"ArithmeticError: no \ud800 luck"
    write_table(tmp_path / "table", {"reason": TEXT}, [{"reason": only.error}])


@pytest.mark.multiprocess
def test_a_worker_with_other_code_than_its_parent_computes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tagma.bench.local_workers.code_fingerprint", lambda: "of an hour ago")
    (only,) = outcomes([FakeCell("a", "work")], tmp_path)
    assert only.result is None
    assert "the code has changed" in only.error


@pytest.mark.multiprocess
def test_a_kept_result_without_what_it_should_have_is_made_again(tmp_path):
    for content in ("{}", "[]", '{"some": 1}'):
        (tmp_path / "a.json").write_text(content)
        (only,) = outcomes([FakeCell("a", "work")], tmp_path)
        assert only.result["process"]
