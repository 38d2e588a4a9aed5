"""Every aggregator with the settings that tests use, and what may be expected of it."""

from functools import partial

import numpy as np

from tagma.strategies import aggregation

FRACTION = 0.2


def with_reference(rows, **given):
    """FLTrust, which needs one."""
    trusted = np.ones(np.shape(rows)[-1] or 1)
    return aggregation.fltrust(rows, **{"reference": trusted} | given)


ALL = {
    "mean": aggregation.mean,
    "median": aggregation.median,
    "geometric_median": aggregation.geometric_median,
    "centered_clipping": aggregation.centered_clipping,
    "signguard": aggregation.signguard,
    "trimmed_mean": partial(aggregation.trimmed_mean, beta=FRACTION),
    "iterative_filtering": partial(
        aggregation.iterative_filtering, factor=1.3, removable=0.45
    ),
} | {
    name: partial(getattr(aggregation, name), fraction=FRACTION)
    for name in (
        "krum", "multi_krum", "bulyan", "meamed", "mda", "monna", "caf", "smea", "cge", "dnc",
    )
}  # fmt: skip
UPDATES = {
    "central_half": aggregation.central_half,
    "norm_clipping": partial(aggregation.norm_clipping, radius=2.0),
    "fltrust": with_reference,
    "flame": partial(aggregation.flame, noise=0.0),
    "foolsgold": aggregation.foolsgold,
    "fldetector": aggregation.fldetector,
    "rlr": aggregation.rlr,
    "lasa": aggregation.lasa,
}
"""Defences of updates: they measure from 0, and promise less than those above."""
EVERY = ALL | UPDATES
PRE = {
    "nnm": partial(aggregation.nnm, fraction=FRACTION),
    "arc": partial(aggregation.arc, fraction=FRACTION),
    "bucketing": partial(aggregation.bucketing, size=2),
    "clipping": partial(aggregation.clipping, radius=2.0),
}
ROBUST = sorted(set(ALL) - {"mean"})
"""One far-away row in ten does not carry these away."""
FROM_ZERO = {"cge", "signguard"}
"""These measure lengths from 0 and do not move with a translation of the rows."""
ROTATING = {
    "mean", "geometric_median", "krum", "multi_krum", "mda", "monna", "caf", "smea",
    "centered_clipping", "iterative_filtering",
}  # fmt: skip
"""These do not depend on the coordinate system."""
