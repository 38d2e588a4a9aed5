"""Plugins of installed packages: found without being imported, chosen as what is ours."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tagma
from tagma import rules
from tagma.bench.cell_identity import config_of_run
from tagma.choices import choices, not_offered, offered, text_of
from tagma.errors import TagmaError
from tagma.run_settings import check_trust
from tagma.server.drop_in.clustered import Clustered
from tagma.server.drop_in.robust import Robust
from tagma.settings import compose
from tests.command import tagma as command
from tests.conftest import SMALL
from tests.packages import OFFERS, PARTS, installed


@pytest.fixture
def package(tmp_path):
    with installed(tmp_path / "site") as folder:
        yield folder


def test_what_a_package_offers_is_found_without_importing_it(package):
    for group, name in (
        ("aggregation", "their_rule"), ("attack", "their_attack"),
        ("clustering", "their_clustering"), ("strategy", "their_algorithm"), ("task", "their_task"),
    ):  # fmt: skip
        assert name in choices(group)
        assert offered(group)[name].package == "their-package 1.2"
    assert "their_parts" not in sys.modules


def test_its_arguments_are_settings_with_their_defaults(package):
    assert text_of("aggregation", "their_rule") == (
        "# Halfway between the extremes.\npre: []\n_target_: their_parts.midrange\nshrink: 1.0\n"
    )
    chosen = compose(["attack=their_attack", "attack.factor=3"]).choice("attack")
    assert (chosen["factor"], chosen["fraction"], chosen["start"]) == (3, 0.3, 1)
    assert "k" not in compose(["clustering=their_clustering"]).choice("clustering")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("aggregation.shrink=-1", "aggregation.shrink=-1: .* greater than or equal to 0"),
        ("aggregation.shrik=1", "there is no such setting; did you mean aggregation.shrink"),
        ("aggregation=their_rul", "did you mean their_rule"),
        ("clustering=their_clustering", "clustering.k=: is required"),
        ("attack=their_attack attack.factor=0", "attack.factor=0: .* greater than 0"),
    ],
)
def test_wrong_settings_are_one_line(package, tmp_path, override, said):
    words = ["aggregation=their_rule", *override.split()]
    done = command("run", *SMALL, *words[override.startswith("aggregation=") :], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert re.search(said, done.stderr)


def test_a_run_of_nothing_but_their_parts(package, tmp_path):
    words = [f"{group}=their_{kind}" for group, kind in (
        ("task", "task"), ("aggregation", "rule"), ("attack", "attack"), ("strategy", "algorithm"),
    )]  # fmt: skip
    done = command("run", *SMALL, *words, "hydra.run.dir=out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["environment"]["packages"] == "their-package 1.2"
    assert metrics["settings"]["aggregation"] == "their_rule"
    assert metrics["settings"]["attack"] == "their_attack"


def test_python_has_them_by_name(package):
    models = np.array([[0.0, 3.0], [1.0, 5.0], [4.0, 4.0]])
    np.testing.assert_array_equal(rules.their_rule(models), [2.0, 4.0])
    assert torch.equal(
        rules.their_rule(torch.tensor(models), shrink=0.5), torch.tensor([1.0, 2.0]).double()
    )
    assert "their_rule" in dir(rules)
    with pytest.raises(TagmaError, match="shrink"):
        rules.their_rule(models, shrink=-1)
    assert callable(tagma.byzantine("their_attack", fraction=0.2, factor=3))
    with pytest.raises(TagmaError, match="factor"):
        tagma.byzantine("their_attack", fraction=0.2, factor=-3)
    assert Robust("their_rule", shrink=0.5) is not None
    assert Clustered("their_algorithm") is not None


def test_without_the_package_there_is_nothing():
    assert offered("aggregation").get("their_rule") is None
    with pytest.raises(AttributeError, match="their_rule"):
        rules.their_rule  # noqa: B018


def test_a_grid_has_them_on_its_axes(package, tmp_path):
    done = command(
        "bench", "quick", "attack=[none,their_attack]", "seeds=1", "rounds=1", "bench.workers=1",
        "defence=[paper,{theirs:['aggregation=their_rule','clustering=kmeans']}]", "--dry-run",
        cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, "4 cells" in done.stdout) == (0, True), done.stderr


def test_their_code_is_part_of_a_cells_identity(package):
    def key():
        later = ["attack=none", "+attack.later=their_attack"]
        return config_of_run(vars(compose(["aggregation=their_rule"]))), config_of_run(
            vars(compose(later))
        )

    before = key()
    (package / "their_parts.py").write_text(PARTS.replace("-self.factor", "-2 * self.factor"))
    assert all(now != then for now, then in zip(key(), before, strict=True))


@pytest.mark.parametrize(
    "overrides",
    [
        ["aggregation=their_rule"],
        ["attack=[none,their_attack]"],
        ["attack=alie", "++attack.later=their_attack"],
        ["attack={attacks: [{name: their_attack}]}"],
        ["attack=none", "++attack.attacks=[{name: their_attack}]"],
        ["attack=none", "++attack.attacks=[{name: alie, later: their_attack}]"],
        ["attack=alie", "output=their_attack", "++attack.later=${output}"],
        ["+attack@solver=their_attack"],
    ],
)
def test_a_strangers_folder_needs_trust_and_imports_nothing(package, overrides):
    with pytest.raises(TagmaError, match="--trust"):
        check_trust(Path("run"), overrides, trust=False)
    assert "their_parts" not in sys.modules


def test_a_name_of_ours_is_ours_and_both_list_and_run_say_so(tmp_path):
    clash = {"tagma.rules": {"median": "their_parts:midrange", "new": "their_parts:midrange"}}
    with installed(tmp_path / "site", clash):
        assert "strategies.aggregation.median" in text_of("aggregation", "median")
        listed = command("list", "aggregation", cwd=tmp_path)
        assert "'median' for aggregation; it cannot be chosen: Tagma has a choice" in listed.stderr
        run = command("run", *SMALL, "rounds=0", "aggregation=median", cwd=tmp_path)
        assert run.returncode == 0
        assert "aggregation=median is Tagma's own; that of their-package 1.2" in run.stderr


def test_of_two_packages_the_first_is_taken(tmp_path):
    with installed(tmp_path / "a"), installed(tmp_path / "b", name="other"):
        assert offered("aggregation")["their_rule"].package == "their-package 1.2"
        assert any("other 1.2 offers 'their_rule'" in line for line in not_offered("aggregation"))


def test_a_broken_one_is_a_line_and_stops_nobody_else(tmp_path):
    broken = {
        "tagma.rules": {
            "gone": "no_such_module:rule",
            "odd/name": "their_parts:midrange",
            "whole": "their_parts",
            "fails": "their_parts:midrange",
        }
    }  # fmt: skip
    with installed(tmp_path / "site", broken, parts="1 / 0\n"):
        done = command("list", "aggregation", cwd=tmp_path)
        assert done.returncode == 0
        shown = " ".join(done.stdout.replace("│", "").split())
        assert "cannot be imported (ZeroDivisionError" in shown
        assert "cannot be imported (ModuleNotFoundError" in shown
        assert "trimmed_mean" in shown
        assert "this is no name for a choice" in done.stderr
        assert "it is declared as their_parts, not as module:name" in done.stderr
        assert command("run", *SMALL, "rounds=0", cwd=tmp_path).returncode == 0
        chosen = command("run", *SMALL, "aggregation=gone", cwd=tmp_path)
        assert "aggregation=gone: what their-package 1.2 offers cannot be imported" in chosen.stderr
        assert (chosen.returncode, chosen.stderr.count("\n")) == (2, 1)


def test_damaged_metadata_offer_nothing(tmp_path):
    with installed(tmp_path / "site") as folder:
        (file,) = folder.glob("*.dist-info/entry_points.txt")
        file.write_bytes(b"[tagma.rules\n\xff\xfe = = :\n")
        assert "median" in choices("aggregation")
        assert not [name for name in choices("aggregation") if name.startswith("their")]


def test_the_working_folder_offers_nothing(tmp_path, monkeypatch):
    with installed(tmp_path / "site") as folder:
        monkeypatch.chdir(folder)
        assert "their_rule" not in choices("aggregation")


def test_list_marks_them(package, tmp_path):
    done = command("list", "attack", cwd=tmp_path)
    assert "their_attack  (local; of their-package 1.2)" in done.stdout
    everything = " ".join(command("list", cwd=tmp_path).stdout.split())
    assert "Halfway between the extremes. (of their-package 1.2)" in everything
    assert len(OFFERS) == everything.count("(of their-package 1.2)")
