"""The own attack of the documentation does what the documentation says."""

import json
import re
import shlex
from pathlib import Path

from tests.conftest import SMALL
from tests.launch.test_cli import tagma

PAGE = (Path(__file__).parent.parent.parent / "docs" / "attacks.md").read_text()


def own_attack(folder):
    code, command = re.findall(r"```(?:python)?\n(.*?)```", PAGE.partition("ten lines")[2], re.S)[
        :2
    ]
    (folder / "mine.py").write_text(code)
    return shlex.split(command.strip())[1:]


def test_the_documented_attack_runs_as_documented(tmp_path):
    command = own_attack(tmp_path)
    done = tagma(*command, *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert sum(cluster["byzantine"] for cluster in metrics["clusters"]) == 4
    assert metrics["replies"]["rejected"] == {}
    without = tagma("run", "attack=none", *SMALL, "hydra.run.dir=without", cwd=tmp_path)
    assert without.returncode == 0
    honest = json.loads((tmp_path / "without/metrics.json").read_text())
    assert metrics["estimation_error"] != honest["estimation_error"]


def test_its_settings_are_checked(tmp_path):
    command = own_attack(tmp_path)
    wrong = tagma(*command[:-1], "+attack.factor=-1", *SMALL, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "attack.factor=-1" in wrong.stderr
    unknown = tagma(*command, "+attack.factors=1", *SMALL, cwd=tmp_path)
    assert "attack.factors=1: there is no such setting; did you mean factor?" in unknown.stderr


def test_nothing_is_left_to_fill_in():
    assert "@@" not in PAGE


def test_every_attack_is_on_the_page():
    from tagma.settings import choices

    assert [name for name in choices("attack") if f"`{name}`" not in PAGE] == ["mixed"]


def test_the_list_of_attacks_tells_kind_threat_model_settings_and_source(tmp_path):
    shown = tagma("list", "attacks", cwd=tmp_path).stdout
    text = " ".join(shown.split())
    assert "alie (omniscient; Baruch et al. 2019)" in text
    assert "sees every update and group, changes its updates; all of them in concert" in text
    assert "settings: z=null, optimise=false" in text
    assert "sign_flip (local)" in text
