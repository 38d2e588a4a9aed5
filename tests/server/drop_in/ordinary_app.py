"""An ordinary Flower app that knows nothing of Tagma: linear regression, in two groups or one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from tagma.launch.engines.inprocess_grid import InProcessGrid

D = 6
TRUE = np.array([np.arange(D) + 1.0, -3.0 - np.arange(D)])
Change = Callable[[int, int, np.ndarray, dict[str, Any]], tuple[Any, dict[str, Any]] | None]
"""From client, round, its model and metrics to what it sends instead."""


def data(client: int, groups: int = 1, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng([7, client])
    inputs = random.standard_normal((n + client, D))
    return inputs, inputs @ TRUE[client % groups] + 0.1 * random.standard_normal(n + client)


def initial(dtype: str = "float32") -> ArrayRecord:
    named = {"weight": np.zeros((2, 3), dtype), "seen": np.zeros(1, np.int64)}
    return ArrayRecord({name: Array(array) for name, array in named.items()})


def ordinary_app(
    groups: int = 1, steps: int = 30, change: Change | None = None, mods: Sequence[Any] = ()
) -> ClientApp:
    """Clients that take some gradient steps, and report `loss` after them; `change` spoils it."""
    app = ClientApp(mods=list(mods))

    @app.train()
    def train(message: Message, context: Context) -> Message:
        client = int(context.node_config["partition-id"])
        inputs, outputs = data(client, groups)
        arrays = message.content["arrays"]
        weight = arrays["weight"].numpy()
        model = weight.astype(float).ravel()
        for _ in range(steps):
            model = model - 0.2 * inputs.T @ (inputs @ model - outputs) / len(outputs)
        metrics = {"num-examples": len(outputs), "loss": _loss(model, inputs, outputs)}
        model = model.astype(weight.dtype).reshape(2, 3)
        seen = arrays["seen"].numpy() + 1
        if change is not None:
            number = int(message.content["config"]["server-round"])
            changed = change(client, number, model, metrics)
            if changed is None:
                raise RuntimeError("this client fails")
            model, metrics = changed
        record = ArrayRecord({"weight": Array(model), "seen": Array(seen)})
        content = RecordDict({"arrays": record, "metrics": MetricRecord(metrics)})
        return Message(content, reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        inputs, outputs = data(int(context.node_config["partition-id"]), groups)
        model = message.content["arrays"]["weight"].numpy().astype(float).ravel()
        metrics = {"num-examples": len(outputs), "eval_loss": _loss(model, inputs, outputs)}
        return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)

    return app


def _loss(model: np.ndarray, inputs: np.ndarray, outputs: np.ndarray) -> float:
    return float(np.mean((inputs @ model - outputs) ** 2) / 2)


def grid_of(clients: int = 10, **app: Any) -> InProcessGrid:
    return InProcessGrid(ordinary_app(**app), clients)


def weight_of(record: ArrayRecord) -> np.ndarray:
    return record["weight"].numpy().astype(float).ravel()


def flip(byzantine: int) -> Change:
    """The first so many clients send the opposite, four times as far."""
    return lambda client, number, model, metrics: (
        (-4 * model if client < byzantine else model),
        metrics,
    )
