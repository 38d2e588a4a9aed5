"""The Grid of a SuperLink as the drop-ins use it: no upload stops a round or fills the memory."""

from flwr.serverapp import Grid

from tagma.message_limits import Limits

_FLOWERS_OWN = "flwr.superlink."


def bounded(grid: Grid, limits: Limits) -> Grid:
    """A Grid that cuts off replies beyond the limits while they come in, if it is one of Flower's.

    No message is sent twice: clients of somebody else's app need not answer alike.
    """
    if not type(grid).__module__.startswith(_FLOWERS_OWN):
        return grid
    # Slow to import, and only a ServerApp on a SuperLink needs it.
    from tagma.server.transport.patient_grid import PatientGrid

    return PatientGrid(grid, lossy=False, limits=limits)
