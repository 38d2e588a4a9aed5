"""examples/own_data, as its page says: from csv to predictions."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from shutil import copytree

import numpy as np
import pytest

from tagma.launch.engines.process_guard import guarded
from tagma.launch.engines.superlink import CONNECTION, start_simulation
from tests.command import tagma

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "examples/own_data/README.md").read_text().replace("\\\n", "")
REGIONS = 3


@pytest.fixture
def place(tmp_path):
    """A copy of the example with its data, and a way to read the page's commands."""
    copytree(ROOT / "examples/own_data", tmp_path / "own")
    return tmp_path / "own"


def words_of(start, place):
    """The arguments of the page's command that begins so, as a shell in the folder reads them."""
    (line,) = re.findall(rf"^{start}\b.*$", PAGE, re.M)
    return [word.replace("$PWD", str(place)) for word in shlex.split(line)[1:]]


def python(start, place):
    command = [sys.executable, *words_of(start, place)]
    return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout


def command(start, place):
    done = tagma(*words_of(start, place), cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(file):
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def check_result(place):
    """The hospitals of a region are together, and the new one is served well."""
    honest = [row for row in rows_of(place / "result/clusters.csv") if row["byzantine"] == "0"]
    cluster_of = {int(row["client"]) % REGIONS: row["assigned"] for row in honest}
    assert len({(int(row["client"]) % REGIONS, row["assigned"]) for row in honest}) == REGIONS
    assert len(set(cluster_of.values())) == REGIONS
    made = run_path(str(place / "make_data.py"))
    south = list(made["RULES"]).index("south")
    said = command("tagma assign", place)
    assert said.startswith(f"cluster: {cluster_of[south]} (distance: 0.")
    assert said in PAGE
    command("tagma predict", place)
    patients = rows_of(place / "todays_patients.csv")
    assert "ill" not in patients[0]
    numbers = [[float(row[name]) for name in ("age", "dose", "pulse")] for row in patients]
    ill = np.array(numbers) @ made["RULES"]["south"] > 0
    told = [row["prediction"] == "yes" for row in rows_of(place / "predictions.csv")]
    assert (ill == told).mean() > 0.9


def test_the_page_leads_from_csv_to_predictions(place):
    python("python make_data.py", place)
    command("tagma run", place)
    check_result(place)
    assert (place / "result/report.html").is_file()


@pytest.mark.full
@pytest.mark.multiprocess
def test_flwr_run_comes_to_the_same(place):
    python("python make_data.py", place)
    checkout, *options = words_of("flwr run", place)[1:]
    assert checkout == "../.."
    with guarded() as shelter, (place / "log").open("w") as output:
        superlink = start_simulation(shelter, 1, output)
        run = superlink.flwr("run", str(ROOT), CONNECTION, *options)
        said, _ = run.communicate()
    assert (place / "result/report.html").is_file(), said
    check_result(place)
