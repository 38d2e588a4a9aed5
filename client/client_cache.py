"""Machines whose data were made lately, kept by the process that made them.

Making a machine's data again costs more than a gradient of them, and a process of a simulation
plays many machines in turn.
"""

from flwr.app import Context

from tagma.attacks.base import LocalAttack
from tagma.attacks.client_mod import local_attack, machine_number
from tagma.client.local_client import Machine, make_machine
from tagma.settings import settings_from

_LIMIT = 512 * 2**20
"""Bytes of data that one process keeps. What does not fit is made again every time: machines take
turns, so that making room would throw out just the one that comes next."""

_machines: dict[tuple[str, int, LocalAttack | None], Machine] = {}


def machine_of(context: Context, round_number: int) -> Machine:
    """The machine that a Flower client plays in a round."""
    text = str(context.run_config["overrides"])
    settings = settings_from(text)
    attack = local_attack(settings, context, round_number)
    if attack is not None and type(attack).data is LocalAttack.data:
        attack = None  # its data are the honest ones
    key = (text, machine_number(context), attack)
    machine = _machines.get(key)
    if machine is None:
        if _machines and next(iter(_machines))[0] != text:
            _machines.clear()  # another run has begun
        machine = make_machine(settings, key[1], attack)
        size = max(1, machine.data.inputs.nbytes + machine.data.targets.nbytes)
        if len(_machines) < max(1, _LIMIT // size):
            _machines[key] = machine
    return machine
