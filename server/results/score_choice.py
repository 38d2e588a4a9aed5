"""Which scores a run has: it follows from its task, and from whether clients measure anything."""

from tagma.attacks.adversary import goal_of
from tagma.server.results.client_metrics import client_scores
from tagma.server.results.scores import EstimationError, Score, ServedError
from tagma.settings import Settings
from tagma.tasks.task import Task, layout_of
from tagma.tasks.task_choice import task_of


def scores_of(
    task: Task, *, evaluated: bool = True, personalised: bool = False, goal: bool = False
) -> tuple[Score, ...]:
    """The scores of a run, the most telling one first.

    Clients measure some, if `evaluated`, and some again after steps of their own, if
    `personalised`; and whether the attack reaches its `goal`, if it has one.
    """
    truth = task.truth()
    found: list[Score] = []
    if truth is not None and truth.centres is not None:
        found += [EstimationError(), ServedError(layout_of(task).vector(task.initial()))]
    if evaluated:
        found += client_scores(task, personalised=personalised, goal=goal)
    return tuple(found)


def scores_of_run(settings: Settings, *, evaluated: bool = True) -> tuple[Score, ...]:
    """The same for the task and the personalisation of a run."""
    personalised = settings.personalise.steps > 0
    goal = goal_of(settings) is not None
    return scores_of(task_of(settings), evaluated=evaluated, personalised=personalised, goal=goal)
