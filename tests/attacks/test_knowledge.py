"""Who knows what: defences nothing of the truth, local attacks nothing of others."""

import ast
import functools
from pathlib import Path

import numpy as np
import pytest

from tagma.attacks.adversary import adversary_of
from tagma.attacks.base import LocalAttack, OmniscientAttack
from tagma.attacks.dry_run import try_attacks
from tagma.attacks.schedule import Adversary, Squad
from tagma.attacks.threat_model import OutOfSight
from tagma.choices import choices
from tagma.client.app import app as client_app
from tagma.errors import SettingError
from tagma.exchange import FIT, GRADIENT
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.launch.run import check
from tagma.plugins import TARGET, locate
from tagma.server.wiring import algorithm_of
from tagma.settings import Settings, compose, join_overrides
from tagma.strategies.flower import AlgorithmStrategy
from tagma.tasks.task import Truth
from tagma.tasks.task_choice import task_of
from tests.attacks.views import local_view
from tests.conftest import SMALL

ROOT = Path(__file__).parent.parent.parent
SECRETS = (Truth, Adversary, Squad, Settings, LocalAttack, OmniscientAttack)


def reachable(start):
    """Every object that attributes, items, closures and bound arguments lead to."""
    seen, todo = {}, [start]
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, type | str | int | float | type(ast)):
            continue
        seen[id(thing)] = thing
        todo += list(getattr(thing, "__dict__", {}).values())
        if isinstance(thing, dict):
            todo += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set | frozenset):
            todo += list(thing)
        elif isinstance(thing, functools.partial):
            todo += [thing.func, thing.args, thing.keywords]
        todo += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
        todo += list(getattr(thing, "__defaults__", None) or ())
        todo += [getattr(thing, "__self__", None), getattr(thing, "__wrapped__", None)]
    return seen.values()


def leaks(start, settings):
    """What of the truth or the Byzantine flags can be reached."""
    truth, task = task_of(settings).truth(), task_of(settings)
    secret = [adversary_of(settings).byzantine, truth.labels, truth.centres]
    return [
        thing
        for thing in reachable(start)
        if isinstance(thing, (*SECRETS, type(task)))
        or (
            isinstance(thing, np.ndarray)
            and any(thing.shape == known.shape and (thing == known).all() for known in secret)
        )
    ]


def test_the_walk_finds_what_an_oracle_was_told():
    settings = compose([*SMALL, "strategy=oracle"])
    assert leaks(algorithm_of(settings), settings)


@pytest.mark.parametrize("strategy", sorted(set(choices("strategy")) - {"oracle", "own"}))
def test_no_other_algorithm_can_reach_the_truth(strategy):
    settings = compose([*SMALL, f"strategy={strategy}", "optimiser=local"])
    assert not leaks(algorithm_of(settings), settings)


@pytest.mark.parametrize("aggregation", choices("aggregation"))
def test_no_aggregation_can_reach_the_truth(aggregation):
    with_server = ("task=rotated_digits", "task.server_samples=10")
    task = with_server if aggregation == "fltrust" else SMALL
    settings = compose([*task, f"aggregation={aggregation}"])
    assert not leaks(algorithm_of(settings), settings)


@pytest.mark.parametrize("clustering", choices("clustering"))
def test_no_clustering_can_reach_the_truth(clustering):
    settings = compose([*SMALL, f"clustering={clustering}"])
    assert not leaks(algorithm_of(settings), settings)


@pytest.mark.parametrize("attack", ["sign_flip", "ipm", "infiltrate"])
def test_a_strategy_has_not_come_to_know_the_truth_after_a_run(monkeypatch, tmp_path, attack):
    from tagma.server import federation

    strategies = []

    def strategy(*arguments, **keywords):
        strategies.append(AlgorithmStrategy(*arguments, **keywords))
        return strategies[-1]

    monkeypatch.setattr(federation, "AlgorithmStrategy", strategy)
    settings = compose([*SMALL, f"attack={attack}"])
    grid = InProcessGrid(client_app, 20, join_overrides(settings.overrides))
    federation.run_federation(grid, settings, tmp_path, [])
    (used,) = strategies
    assert used.state.clustered is not None
    assert not leaks(used, settings)


def strategy_nodes():
    for file in (ROOT / "strategies").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            yield file, node


def test_strategies_look_at_nobodys_private_parts():
    """The grid that an attack is wrapped around keeps the truth in such."""
    for file, node in strategy_nodes():
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            if node.attr in ("__init__", "__name__", "__signature__"):
                continue
            assert isinstance(node.value, ast.Name), (file, node.lineno)
            assert node.value.id == "self", (file, node.lineno)


def test_strategies_do_not_look_things_up_by_name():
    """Those that meet a grid; the arithmetic in the folders meets arrays only."""
    for file, node in strategy_nodes():
        if file.parent.name == "strategies" and isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name):
                continue
            assert node.func.id not in ("getattr", "vars"), (file, node.lineno)


def attack_classes():
    from omegaconf import OmegaConf

    for name in choices("attack"):
        target = OmegaConf.load(ROOT / "conf" / "attack" / f"{name}.yaml").get(TARGET)
        if target:
            yield pytest.param(locate(target, TARGET), id=name)


@pytest.mark.parametrize("attack", list(attack_classes()))
def test_every_attack_says_what_it_sees_and_no_more_than_its_kind_can(attack):
    if issubclass(attack, OmniscientAttack):
        assert attack.threat.sees == "every update and group"
        assert attack.threat.colludes
    else:
        assert attack.threat.sees != "every update and group"
        assert not attack.threat.colludes
        changes_data = attack.data is not LocalAttack.data
        changes_updates = attack.forge is not LocalAttack.forge
        says = attack.threat.changes
        assert changes_data == (says in ("its data", "its data and updates"))
        updates = ("its updates", "its data and updates", "its replies")
        assert changes_updates == (says in updates)


@pytest.mark.parametrize("name", ["honest", "own", "honest_models", "rehearse", "clusters"])
def test_a_local_attack_cannot_see_what_others_send(name):
    with pytest.raises(OutOfSight, match=f"does not see `{name}`: derive from OmniscientAttack"):
        getattr(local_view(), name)


class Peeping(LocalAttack):
    """Wants to know what the others send."""

    def forge(self, honest, view):
        return -view.honest.mean(axis=0)


def test_an_attack_that_looks_where_it_cannot_is_refused_before_the_run():
    settings = compose([*SMALL, "attack=none", "+attack.fraction=0.2",
                        f"attack._target_={__name__}.Peeping"])  # fmt: skip
    with pytest.raises(SettingError, match="attack=Peeping: a local attack does not see `honest`"):
        check(settings)


class Talking(LocalAttack):
    """Sends no numbers."""

    def forge(self, honest, view):
        return "hello"


def test_an_attack_whose_updates_are_no_arrays_is_refused_before_the_run():
    settings = compose([*SMALL, "attack=none", "+attack.fraction=0.2",
                        f"attack._target_={__name__}.Talking"])  # fmt: skip
    with pytest.raises(SettingError, match="attack=Talking: forge gave a str instead of an array"):
        check(settings)


def test_an_omniscient_attack_with_wrong_settings_for_the_task_is_refused_before_the_run():
    with pytest.raises(SettingError, match="cluster=2: no honest client"):
        try_attacks(compose([*SMALL, "attack=infiltrate", "attack.cluster=2"]), FIT, GRADIENT)


def test_an_omniscient_attack_is_tried_also_where_nobody_is_said_to_be_in_a_cluster():
    digits = ["task=rotated_digits", "task.clusters_by=none", "strategy=fedavg", "attack=alie"]
    try_attacks(compose(digits), FIT, GRADIENT)


class Stumbling(LocalAttack):
    """Has a mistake, whose words have one as well."""

    def forge(self, honest, view):
        raise Wordless


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no words")


def test_an_attack_with_a_mistake_is_refused_before_the_run():
    settings = compose([*SMALL, "attack=none", "+attack.fraction=0.3",
                        f"attack._target_={__name__}.Stumbling"])  # fmt: skip
    with pytest.raises(SettingError, match="attack=Stumbling: fails when it is tried: Wordless"):
        check(settings)
