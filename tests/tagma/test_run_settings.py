"""What a stranger's run folder may name, and what it may not."""

import os
from pathlib import Path

import pytest
import yaml

from tagma.errors import TagmaError
from tagma.foreign_file import MOST_YAML, read_yaml
from tagma.run_settings import check_trust, settings_of_run
from tagma.settings import compose


@pytest.mark.parametrize(
    "override",
    [
        "attack._target_=evil.Attack",
        "attack={attacks: [{_target_: evil.Attack}]}",
        "++aggregation.pre=[{_target_: evil.pre}]",
        "model._target_=subprocess.Popen",
        "model._target_=tagma.launch.engines.process_guard.Popen",
        "solver._target_=tagma.strategies.aggregation.mean.mean",
        "+nothing._target_=os.system",
        "hydra.searchpath=[pkg://evil]",
        "+hydra.searchpath=[file:///tmp]",
        "task.dim=${oc.env:HOME}",
        "task.dim='${oc.env:HOME}'",
        r"task.dim=$\{oc.env:HOME\}",
        "task.dim=${${task.noise}:HOME}",
        "task.dim=${oc.select:${oc.env:HOME},1}",
        "attack=${oc.env:HOME}",
        "attack=../../evil",
        "+attack@solver=../evil",
        "+a/b@c=/tmp/evil",
    ],
)
def test_what_is_not_tagmas_own_needs_trust(override):
    with pytest.raises(TagmaError, match="--trust") as error:
        check_trust(Path("run"), [override], trust=False)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "overrides",
    [
        ["task=images", "attack=ipm", "model=cnn", "training=adam"],
        ["preset=tagma", "attack=alie"],
        ["strategy=flower", "aggregation.pre=[nnm]", "clustering.k=${task.clusters}"],
        ["task=table", "task.data=../mine.csv", "output=/tmp/x"],
    ],
)
def test_what_is_tagmas_own_needs_none(overrides):
    check_trust(Path("run"), overrides, trust=False)


def of(folder, overrides):
    (folder / ".hydra").mkdir(exist_ok=True)
    content = {"hydra": {"overrides": {"task": overrides, "hydra": ["hydra.run.dir=x"]}}}
    (folder / ".hydra/hydra.yaml").write_text(yaml.safe_dump(content))
    return folder


def test_the_settings_of_a_run_are_found_again(tmp_path):
    overrides = ["task.dim=3", "seed=4"]
    assert settings_of_run(of(tmp_path, overrides)) is compose(overrides)


@pytest.mark.parametrize("overrides", [["seed=${seed}"], ["seed=" + "[" * 500], [3], "seed=1", {}])
def test_settings_that_are_none_are_one_line(tmp_path, overrides):
    with pytest.raises(TagmaError) as error:
        settings_of_run(of(tmp_path, overrides))
    assert "\n" not in str(error.value)


BOMB = "a: &a [x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (BOMB, "aliases"),
        ("[" * 3000, "nested"),
        ("a: " + "x" * MOST_YAML, "bytes"),
        ("a: !!python/object/apply:os.system [ls]", "python"),
    ],
)
def test_yaml_is_plain_and_small(tmp_path, content, says):
    (tmp_path / "x.yaml").write_text(content)
    with pytest.raises((ValueError, yaml.YAMLError), match=says):
        read_yaml(tmp_path / "x.yaml")


def test_links_and_pipes_are_no_files(tmp_path):
    (tmp_path / "there.yaml").write_text("secret: 1")
    (tmp_path / "x.yaml").symlink_to(tmp_path / "there.yaml")
    with pytest.raises(ValueError, match="is no file of this folder"):
        read_yaml(tmp_path / "x.yaml")

    os.mkfifo(tmp_path / "y.yaml")
    with pytest.raises(ValueError, match="is no file of this folder"):
        read_yaml(tmp_path / "y.yaml")
