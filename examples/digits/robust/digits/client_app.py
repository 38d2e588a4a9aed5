"""The ClientApp: training and evaluation on one client's images."""

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from digits.task import load_partition, new_model
from digits.task import test as test_model
from digits.task import train as train_model

app = ClientApp()


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
