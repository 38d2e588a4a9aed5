"""Federated learning that finds the clusters of its clients while some of them are Byzantine.

In a checkout and in a Flower app bundle the other packages (`server`, `client`, ...) are folders
beside this one; installed, they are inside of it. Either way they are imported as `tagma.server`
and so on, and never otherwise: nothing of ours can shadow a user's module, or be shadowed by it.
"""

from pathlib import Path

__version__ = "0.1.0"

_HERE = Path(__file__).parent
if not (_HERE / "server").is_dir() and (_HERE.parent / "server").is_dir():
    __path__.append(str(_HERE.parent))
