"""What a grid ranks by: any score that the runs of all its cells end with, or the misclustering."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tagma.bench.grid.expand import Place
from tagma.bench.grid.plan import MISCLUSTERING, Plan
from tagma.bench.grid.table_rows import NUMBERS
from tagma.errors import SettingError, TagmaError
from tagma.server.results.scores import Score, scores_of
from tagma.settings import Settings
from tagma.tasks.task import Better
from tagma.tasks.task_choice import task_of


def with_metric(plan: Plan, places: Sequence[Place]) -> Plan:
    """The plan with its metric and all scores of its cells; what no cell has is one clear line.

    Without a choice it is the first score that all cells have.
    """
    every = [place.cell.settings for place in places]
    tasks = {(repr(one.choice("task")), one.evaluate): one for one in every}
    of_tasks = [_known(settings) for settings in tasks.values()]
    scores = {name: way for known in of_tasks for name, way in known.items()}
    common = [name for name in scores if all(name in known for known in of_tasks)]
    truth = all(task_of(settings).truth() is not None for settings in tasks.values())
    allowed = [*common, *([MISCLUSTERING] if truth else [])]
    if not allowed:
        raise TagmaError("bench.metric: these tasks have no score in common; compare them apart")
    metric = plan.metric or allowed[0]
    if metric not in allowed:
        raise SettingError("bench.metric", metric, f"must be one of {', '.join(allowed)}")
    for axis in plan.axes:
        if axis.key in scores:
            raise TagmaError(
                f"bench.axes.{axis.key}: a score has this name; call it something else"
            )
    columns = [*allowed, *NUMBERS]
    for number, requirement in enumerate(plan.gate):
        if requirement.metric is not None and requirement.metric not in columns:
            key = f"bench.gate.{number}.metric"
            raise SettingError(key, requirement.metric, f"must be one of {', '.join(columns)}")
    return replace(plan, metric=metric, scores=scores)


def _known(settings: Settings) -> Mapping[str, Better]:
    """The scores of such a run, and which way is good."""
    found: Sequence[Score] = scores_of(task_of(settings), evaluated=settings.evaluate)
    return {score.name: score.better for score in found}
