"""Names for the array types that the packages exchange."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Vectors of shape (d,) or stacked vectors of shape (m, d), one row per client."""

Labels = NDArray[np.int64]
"""Cluster numbers, one per client."""

Mask = NDArray[np.bool_]
"""True or false, one per client."""
