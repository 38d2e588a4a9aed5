"""Machines whose data were made lately, kept by the process that made them.

Making a machine's data again costs more than a gradient of them, and a process of a simulation
plays many machines in turn.
"""

from collections import OrderedDict

from flwr.app import Context

from attacks.byzantine import is_byzantine, machine_number
from client.machine import Machine, make_machine
from tagma.settings import settings_from

_LIMIT = 512 * 2**20
"""Bytes of data that one process keeps; the machine used longest ago goes first."""

_machines: OrderedDict[tuple[str, int, bool], Machine] = OrderedDict()


def machine_of(context: Context) -> Machine:
    """The machine that a Flower client plays."""
    text = str(context.run_config["overrides"])
    settings = settings_from(text)
    key = (text, machine_number(context), is_byzantine(settings, context))
    machine = _machines.pop(key, None)
    if machine is None:
        machine = make_machine(settings, number=key[1], byzantine=key[2])
        size = max(1, machine.data.inputs.nbytes + machine.data.targets.nbytes)
        while len(_machines) >= max(1, _LIMIT // size):
            _machines.popitem(last=False)
    _machines[key] = machine
    return machine
