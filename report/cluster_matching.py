"""True clusters matched with found ones, so that both panels of the picture share colours.

The matching maximises the honest clients that agree (the Hungarian method), as the misclustering
does.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from tagma.report.run_data import ClientRow


def match_clusters(clients: Sequence[ClientRow], found: int) -> dict[int, int]:
    """Each true cluster's number among the found ones; those left over are numbered after them."""
    honest = [m for m in clients if m.true is not None and not m.byzantine]
    true = sorted({m.true for m in honest if m.true is not None})
    if not true:
        return {}
    width = max([found, *(m.assigned + 1 for m in honest if m.assigned is not None)])
    agree = np.zeros((len(true), width))
    for client in honest:
        if client.assigned is not None and client.true is not None:
            agree[true.index(client.true), client.assigned] += 1
    rows, columns = linear_sum_assignment(agree, maximize=True)
    matched = {true[row]: int(column) for row, column in zip(rows, columns, strict=True)}
    lost = [label for label in true if label not in matched]
    return matched | {label: width + i for i, label in enumerate(lost)}


def misplaced(client: ClientRow, matched: dict[int, int]) -> bool:
    """Whether an honest client of known truth sits in another cluster than its own."""
    if client.byzantine or client.true is None or client.assigned is None:
        return False
    return matched[client.true] != client.assigned
