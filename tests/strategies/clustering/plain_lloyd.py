"""Lloyd's algorithm as a textbook has it, from one labeling: what ours is compared with."""

import numpy as np


def plain_lloyd(points, labels, k, centre, limit=100):
    """`centre` maps the rows of a cluster to its centre; no cluster may become empty."""
    for _ in range(limit):
        centres = np.array([centre(points[labels == number]) for number in range(k)])
        new = np.array([np.argmin([np.sum((p - c) ** 2) for c in centres]) for p in points])
        if np.array_equal(new, labels):
            break
        labels = new
    return labels, centres
