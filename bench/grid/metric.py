"""What a grid ranks by: a score that the runs of all its cells end with, or of their clusters."""

from collections.abc import Sequence
from dataclasses import replace

from tagma.attacks.adversary import goal_of
from tagma.attacks.goal import SUCCESS
from tagma.bench.grid.expand import GridPoint
from tagma.bench.grid.plan import Plan
from tagma.bench.grid.table_rows import NUMBERS
from tagma.errors import SettingError, TagmaError
from tagma.override import key_of
from tagma.server.results.cluster_scores import CLUSTERING
from tagma.server.results.score_choice import scores_of_run
from tagma.settings import Settings
from tagma.tasks.task import Better, true_clusters
from tagma.tasks.task_choice import task_of


def with_metric(plan: Plan, points: Sequence[GridPoint]) -> Plan:
    """The plan with its metric and all scores of its cells; what no cell has is one clear line.

    Without a choice it is the first score that all cells have.
    """
    every = [point.cell.settings for point in points]
    tasks = list({_kind(one): one for one in every}.values())
    # What clients would measure, had the grid asked for it, unless the user does not want that.
    asked = not any(key_of(text) == "evaluate" for text in plan.common)
    ways = [_ways(one, asked or one.evaluate) for one in tasks]
    possible = _shared(ways)
    if all(true_clusters(task_of(one)) is not None for one in tasks):
        possible += CLUSTERING
    known = [_ways(one, one.evaluate) for one in tasks]
    scores = {name: way for ways in known for name, way in ways.items()}
    measured = [*_shared(known), *(name for name in possible if name in CLUSTERING)]
    metric = plan.metric or next(iter(measured), None)
    if metric is None:
        raise TagmaError("bench.metric: these cells have no score in common; compare them apart")
    # Cells whose attack has no goal have no success rate, and no place in what is ranked by it.
    rates = (name for own in ways for name in own if name.startswith(SUCCESS))
    possible += dict.fromkeys(name for name in rates if name not in possible)
    if metric not in possible:
        raise SettingError("bench.metric", metric, f"must be one of {', '.join(possible)}")
    for axis in plan.axes:
        if axis.key in scores:
            raise TagmaError(
                f"bench.axes.{axis.key}: a score has this name; call it something else"
            )
    columns = [*possible, *NUMBERS]
    for number, requirement in enumerate(plan.gate):
        if requirement.metric is not None and requirement.metric not in columns:
            key = f"bench.gate.{number}.metric"
            raise SettingError(key, requirement.metric, f"must be one of {', '.join(columns)}")
    return replace(plan, metric=metric, scores=scores)


def _kind(settings: Settings) -> tuple[str, bool, bool]:
    """What decides which scores a run has."""
    goal = goal_of(settings) is not None
    return repr(settings.choice("task")), settings.evaluate, goal


def _ways(settings: Settings, evaluated: bool) -> dict[str, Better]:
    """The scores of such a run, and which way is good."""
    return {one.name: one.better for one in scores_of_run(settings, evaluated=evaluated)}


def _shared(scores: Sequence[dict[str, Better]]) -> list[str]:
    """Those that all have, in the order of the first."""
    return [name for name in scores[0] if all(name in other for other in scores)]
