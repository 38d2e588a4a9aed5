"""The page about running lists what there is."""

import re
from pathlib import Path

import pytest
import yaml

from tagma.choices import CONF, choices, groups

PAGE = (Path(__file__).parents[2] / "docs/running.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*) \|$", PAGE, re.MULTILINE))
NOT_ITS_SUBJECT = {"bench"}


@pytest.mark.parametrize("group", sorted({*groups()} - NOT_ITS_SUBJECT - {"attack"}))
def test_the_row_of_a_group_has_all_its_choices_and_no_others(group):
    assert sorted(re.findall(r"`(\w+)`", ROWS[group])) == choices(group)


def test_every_setting_of_the_top_level_is_named():
    line = PAGE.partition("At the top level:")[2].partition("\n\n")[0]
    there = set(yaml.safe_load((CONF / "config.yaml").read_text())) - {"defaults", "hydra"}
    assert set(re.findall(r"`(\w+)`", line)) == there - {"resume"}


@pytest.mark.parametrize("strategy", ["three_stage", "fedavg"])
def test_the_page_has_every_key_of_the_metrics_and_no_others(strategy, run_small):
    table = PAGE.partition("`metrics.json` holds")[2].partition("\n\nWhat a task")[0]
    documented = set()
    for first in re.findall(r"^\| (`.*?) \|.*\|$", table, re.MULTILINE):
        documented |= set(re.findall(r"`(\w+)`", first))
    beside = {"oracle_without_byzantine", "oracle_suspect"}  # in the row of the oracle's error
    metrics = run_small(f"strategy={strategy}", "rounds=1")
    assert metrics.keys() == documented | beside
    assert all(f"`{name}`" in table for name in beside)
