"""A task with a model and no data of its own."""

from tagma.tasks.models.model import Problem
from tagma.tasks.models.perceptron import Perceptron
from tagma.tasks.supervised import Supervised


class OnlyModel(Supervised):
    clients = clusters = 1
    train = test = truth = warnings = lambda self, *client: None

    def __init__(self, model, problem):
        self._model, self._problem = model, problem
        self.metrics, self.buffers = problem.metrics, model.buffers


def perceptron(widths, seed=0, kind="classification"):
    """A classifier, or a regression if the last width is 1."""
    problem = Problem(widths[:1], widths[-1], kind)
    return OnlyModel(Perceptron(problem=problem, seed=seed, hidden=list(widths[1:-1])), problem)
