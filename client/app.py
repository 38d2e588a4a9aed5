"""The Flower ClientApp: one function per instruction, each a few lines around `LocalClient`."""

from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from tagma.arrays import Array
from tagma.attacks.client_mod import byzantine_mod
from tagma.client.client_cache import client_of
from tagma.client.local_client import LocalClient
from tagma.wire import ABOUT, CLIENT, LOSS, METRICS, MODEL, UPDATE, pack, round_of, unpack_any

app = ClientApp()


def _client(message: Message, context: Context) -> LocalClient:
    return client_of(context, round_of(message))


def _reply(message: Message, update: Array) -> Message:
    content = RecordDict()
    content[UPDATE] = pack(update)
    return Message(content, reply_to=message)


@app.train("local_model", mods=[byzantine_mod])
def local_model(message: Message, context: Context) -> Message:
    """Round 1: the local model, and which client this is."""
    client = _client(message, context)
    reply = _reply(message, client.local_model())
    reply.content[ABOUT] = ConfigRecord({CLIENT: client.number})
    return reply


@app.train("gradient", mods=[byzantine_mod])
def gradient(message: Message, context: Context) -> Message:
    """The gradient of the local risk at the received model."""
    model = unpack_any(message.content[MODEL])
    return _reply(message, _client(message, context).gradient(model))


@app.train("local", mods=[byzantine_mod])
def local(message: Message, context: Context) -> Message:
    """The model after some local steps from the received one."""
    model = unpack_any(message.content[MODEL])
    return _reply(message, _client(message, context).local(model))


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """The loss of the received model on held-out data of this client."""
    loss = _client(message, context).loss(unpack_any(message.content[MODEL]))
    return Message(RecordDict({METRICS: MetricRecord({LOSS: loss})}), reply_to=message)
