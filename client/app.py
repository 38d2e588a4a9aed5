"""The Flower ClientApp: messages become arrays for `LocalClient`, and back.

It answers under Flower's own names: `arrays` and `metrics`, with `num-examples` among them. The
number that the client gives itself is there, too (`tagma.strategies.client_identity`).
"""

from functools import lru_cache
from typing import cast

from flwr.app import Context, Message, MetricRecord
from flwr.clientapp import ClientApp

from tagma.attacks.client_mod import byzantine_mod
from tagma.client.client_cache import client_of
from tagma.exchange import CHOICE, INTRODUCE, NO_MODEL, OWN
from tagma.flower_private import content_of
from tagma.settings import settings_from
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of
from tagma.wire import (
    ARRAYS,
    CLIENT,
    EXAMPLES,
    METRICS,
    WORK,
    config_of,
    models_of,
    pack,
    round_of,
)  # fmt: skip

app = ClientApp()


@app.train(mods=[byzantine_mod])
def train(message: Message, context: Context) -> Message:
    """What the server asks for: a local model, a gradient, a trained model, or just who we are."""
    config, number = config_of(message), round_of(message)
    client = client_of(context, number)
    about = _about(client.number, len(client.data)).copy()
    work = str(config[WORK])
    if work == INTRODUCE:
        return Message(content_of({METRICS: about}), reply_to=message)
    layout = layout_of(task_of(settings_from(str(context.run_config["overrides"]))))
    settings = {key: value for key, value in config.items() if isinstance(value, float)}
    models = models_of(message, layout)
    if ARRAYS in message.content:
        answer = client.answer(work, models[0], number, settings)
    else:
        answer = client.choose(work, models, number, settings)
    if answer.numbers:
        about.update(answer.numbers)
    arrays = pack(layout, answer.vector, answer.buffers)
    return Message(content_of({ARRAYS: arrays, METRICS: about}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """How good the received model is on held-out data of this client; nothing else is sent.

    Of several models, its own or one that fits its training examples clearly better, and which.
    """
    number = round_of(message)
    client = client_of(context, number)
    layout = layout_of(task_of(settings_from(str(context.run_config["overrides"]))))
    models = models_of(message, layout)
    metrics, row = _about(client.number, len(client.data)).copy(), 0
    if ARRAYS not in message.content:
        own = config_of(message).get(OWN, NO_MODEL)
        metrics[CHOICE] = row = client.used_of(models, int(cast(int, own)))
    metrics.update(client.evaluate(models[row], number))
    return Message(content_of({METRICS: metrics}), reply_to=message)


@lru_cache(maxsize=4096)
def _about(client: int, examples: int) -> MetricRecord:
    """What every reply says, to be copied: a record takes its time to check what it is given."""
    return MetricRecord({EXAMPLES: examples, CLIENT: client})
