"""The task that the settings choose."""

from tagma.kept import kept
from tagma.plugins import build
from tagma.settings import Settings
from tagma.tasks.models.model_choice import model_maker
from tagma.tasks.task import Task


@kept(maxsize=32)
def task_of(settings: Settings) -> Task:
    """Built once per process and settings; tasks hold no client's data."""
    task: Task = build(
        "task", settings.choice("task"),
        seed=settings.seed, device=settings.device, model=model_maker(settings),
    )  # fmt: skip
    return task
