"""Clients whose data were made lately, kept by the process that made them.

Making a client's data again costs more than a gradient of them, and a process of a simulation
plays many clients in turn.
"""

from flwr.app import Context

from tagma.attacks.base import LocalAttack
from tagma.attacks.client_mod import client_number, local_attack
from tagma.client.local_client import LocalClient, make_client
from tagma.kept import forgotten_with_the_rest
from tagma.settings import settings_from

_LIMIT = 512 * 2**20
"""Bytes of data that one process keeps. What does not fit is made again every time: clients take
turns, so that making room would throw out just the one that comes next."""

_clients: dict[tuple[str, int, LocalAttack | None], LocalClient] = {}
forgotten_with_the_rest(_clients.clear)


def client_of(context: Context, round_number: int) -> LocalClient:
    """The client that a node plays in a round."""
    text = str(context.run_config["overrides"])
    settings = settings_from(text)
    attack = local_attack(settings, context, round_number)
    if attack is not None and type(attack).data is LocalAttack.data:
        attack = None  # its data are the honest ones
    key = (text, client_number(context), attack)
    client = _clients.get(key)
    if client is None:
        if _clients and next(iter(_clients))[0] != text:
            _clients.clear()  # another run has begun
        path = context.node_config.get("data-path")
        client = make_client(settings, key[1], attack, None if path is None else str(path))
        size = max(1, client.data.inputs.nbytes + client.data.targets.nbytes)
        if len(_clients) < max(1, _LIMIT // size):
            _clients[key] = client
    return client
