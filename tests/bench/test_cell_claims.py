"""Who is at work on a cell."""

import json
import os
import platform
import subprocess
import sys
import time

import psutil

from tagma.bench.cell_claims import Claims


def claim_of(folder, **owner):
    file = folder / "key.claim"
    file.write_text(json.dumps({"host": platform.node(), "process": os.getpid()} | owner))
    return file


def test_a_claim_holds_until_it_is_dropped(tmp_path):
    first, second = Claims(tmp_path), Claims(tmp_path)
    assert first.take("key")
    assert not second.take("key")
    first.drop("key")
    assert second.take("key")
    second.drop_all()
    assert not list(tmp_path.iterdir())


def test_the_claim_of_a_dead_process_of_this_computer_is_void_at_once(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ""])
    born = psutil.Process(process.pid).create_time()
    process.wait()
    claim_of(tmp_path, process=process.pid, born=born)
    assert Claims(tmp_path).take("key")


def test_the_claim_of_a_process_whose_number_was_given_away_is_void(tmp_path):
    claim_of(tmp_path, born=psutil.Process().create_time() - 1000)
    assert Claims(tmp_path).take("key")


def test_a_claim_from_elsewhere_is_void_once_it_is_not_renewed(tmp_path):
    file = claim_of(tmp_path, host="another", born=0.0)
    assert not Claims(tmp_path).take("key")
    long_ago = time.time() - 1000
    os.utime(file, (long_ago, long_ago))
    assert Claims(tmp_path).take("key")


def test_a_claim_is_renewed_while_its_owner_works(tmp_path, monkeypatch):
    monkeypatch.setattr("tagma.bench.cell_claims._RENEWAL", 0.0)
    claims = Claims(tmp_path)
    claims.take("key")
    os.utime(tmp_path / "key.claim", (0, 0))
    claims.renew()
    assert (tmp_path / "key.claim").stat().st_mtime > 0


def test_half_a_claim_counts_as_one(tmp_path):
    (tmp_path / "key.claim").write_text("")
    assert not Claims(tmp_path).take("key")
