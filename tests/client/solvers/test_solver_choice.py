import numpy as np
import pytest

from tagma.client.solvers.closed_form import closed_form
from tagma.client.solvers.solver_choice import solver_of
from tagma.errors import SettingError
from tagma.launch.run import check
from tagma.settings import compose
from tagma.tasks.task import LeastSquares
from tagma.tasks.task_choice import task_of


@pytest.mark.parametrize(
    ("task", "solver"),
    [
        ("mixture_logistic", "closed_form"),
        ("mixture_huber", "closed_form"),
        ("mixture_regression", "average"),
    ],
)
def test_a_solver_refuses_a_task_whose_loss_it_does_not_minimise(task, solver):
    with pytest.raises(SettingError, match=rf"^solver={solver}: .*use solver=lbfgs") as caught:
        check(compose([f"task={task}", f"solver={solver}"]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("task", ["mixture_regression", "mixture_logistic", "mixture_huber"])
@pytest.mark.parametrize("solver", ["lbfgs", "online", "sgd"])
def test_the_general_solvers_take_every_task(task, solver):
    settings = compose([f"task={task}", f"solver={solver}", "task.dim=3", "task.samples=200"])
    check(settings)
    data = task_of(settings).train(0)
    assert np.isfinite(solver_of(settings)(task_of(settings), data).model).all()


class Own:
    """A solver that is a class, with the type of its tasks on its call."""

    def __call__(self, task: LeastSquares, data):
        return closed_form(task, data, ridge=0.0)


def test_a_solver_of_the_users_own_says_by_its_type_what_it_can_solve():
    own = ["solver=closed_form", "~solver.ridge", f"solver._target_={__name__}.Own"]
    solver_of(compose(own))
    with pytest.raises(SettingError, match="solver=Own: is for least squares only"):
        solver_of(compose([*own, "task=mixture_huber"]))


@pytest.mark.parametrize("task", ["mixture_logistic", "mixture_huber", "mixture_logcosh"])
def test_tasks_that_are_not_least_squares_bring_a_solver_that_suits_them(task):
    check(compose([f"task={task}"]))
