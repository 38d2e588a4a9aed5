"""byzfl without torchvision, which it imports but needs only to load images and to draw."""

import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest.mock import MagicMock


def byzfl_module() -> Any:
    """The package byzfl; an `ImportError` where it is not installed.

    What it imports for its data loading and its plots alone is replaced where it is missing, so
    `pip install --no-deps --target FOLDER byzfl` and FOLDER on `PYTHONPATH` are enough.
    """
    if find_spec("byzfl") is None:
        raise ImportError("byzfl is not installed")
    for name in ("torchvision", "seaborn"):
        if name not in sys.modules and find_spec(name) is None:
            sys.modules[name] = MagicMock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("byzfl")
