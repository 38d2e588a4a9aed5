"""The Flower ClientApp: messages become arrays for `LocalClient`, and back.

It answers under Flower's own names: `arrays` and `metrics`, with `num-examples` among them. The
number that the client gives itself is there, too (`tagma.strategies.client_identity`).
"""

from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from tagma.attacks.client_mod import byzantine_mod
from tagma.client.client_cache import client_of
from tagma.exchange import INTRODUCE
from tagma.settings import settings_from
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of
from tagma.wire import (
    ARRAYS,
    CLIENT,
    EXAMPLES,
    METRICS,
    config_of,
    models_of,
    pack,
    round_of,
    work_of,
)  # fmt: skip

app = ClientApp()


@app.train(mods=[byzantine_mod])
def train(message: Message, context: Context) -> Message:
    """What the server asks for: a local model, a gradient, a trained model, or just who we are."""
    client = client_of(context, round_of(message))
    about: dict[str, int | float] = {EXAMPLES: len(client.data), CLIENT: client.number}
    content = RecordDict()
    config = config_of(message)
    work = work_of(message)
    if work != INTRODUCE:
        layout = layout_of(task_of(settings_from(str(context.run_config["overrides"]))))
        settings = {key: value for key, value in config.items() if isinstance(value, float)}
        models = models_of(message, layout)
        answer = client.answer(work, models, round_of(message), settings)
        content[ARRAYS] = pack(layout, answer.vector, answer.buffers)
        about |= answer.numbers
    content[METRICS] = MetricRecord(about)
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """How good the received model is on held-out data of this client."""
    client = client_of(context, round_of(message))
    layout = layout_of(task_of(settings_from(str(context.run_config["overrides"]))))
    (model,) = models_of(message, layout)
    metrics = {EXAMPLES: len(client.data), CLIENT: client.number, **client.evaluate(model)}
    return Message(RecordDict({METRICS: MetricRecord(metrics)}), reply_to=message)
