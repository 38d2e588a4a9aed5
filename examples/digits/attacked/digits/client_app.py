"""The ClientApp: training and evaluation on one client's images."""

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable
from tagma import byzantine

from digits.task import load_partition, new_model
from digits.task import test as test_model
from digits.task import train as train_model

SIGN_FLIP = byzantine("sign_flip", fraction=0.2, scale=5)


def attack(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Let a fifth of the clients send the opposite, five times as far, if the server says so."""
    if message.content["config"].get("attacked", False):
        return SIGN_FLIP(message, context, call_next)
    return call_next(message, context)


app = ClientApp(mods=[attack])


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the model on the client's images."""
    model = new_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    node, settings = context.node_config, context.run_config
    data = load_partition(node["partition-id"], node["num-partitions"])
    torch.manual_seed(1000 * message.content["config"]["server-round"] + node["partition-id"])
    loss = train_model(model, data, settings["local-epochs"], settings["learning-rate"])
    content = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"train_loss": loss, "num-examples": len(data[0])}),
    }
    return Message(RecordDict(content), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Measure the model on the client's images."""
    model = new_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    node = context.node_config
    data = load_partition(node["partition-id"], node["num-partitions"])
    loss, accuracy = test_model(model, data)
    metrics = {"eval_loss": loss, "eval_accuracy": accuracy, "num-examples": len(data[0])}
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)
