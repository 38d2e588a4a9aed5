"""How local attacks reach a client: a Flower mod that replaces the update in the reply."""

from typing import TypeGuard

from flwr.app import Context, Message
from flwr.clientapp.typing import ClientAppCallable

from attacks.attack import Attack, LocalAttack, LocalView
from attacks.byzantine import adversary_of, is_byzantine, machine_number
from tagma.settings import settings_from
from tagma.streams import stream
from tagma.wire import MODEL, UPDATE, pack, unpack_any


def byzantine_mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Let the honest program answer, then forge its update if this machine is Byzantine."""
    received = message.content.get(MODEL)
    reply = call_next(message, context)
    settings = settings_from(str(context.run_config["overrides"]))
    attack = adversary_of(settings).attack
    if not (_forges(attack) and is_byzantine(settings, context)):
        return reply
    machine, round_number = machine_number(context), int(message.metadata.group_id)
    view = LocalView(
        machine=machine,
        stage=message.metadata.message_type.partition(".")[2],
        model=None if received is None else unpack_any(received),
        random=stream(settings.seed, "attack", machine, round_number),
    )
    reply.content[UPDATE] = pack(attack.forge(unpack_any(reply.content[UPDATE]), view))
    return reply


def _forges(attack: Attack) -> TypeGuard[LocalAttack]:
    """Whether an attack changes updates at all; some only change the machine's data."""
    return isinstance(attack, LocalAttack) and type(attack).forge is not LocalAttack.forge
