"""Files that appear whole: written under a name of their own, then put in their place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what is to become `path`; the name is unique among all computers."""
    partial = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def remove_partials(folder: Path) -> None:
    """Remove what processes that were killed left of files there; nobody else may be writing."""
    for partial in folder.glob(f".*.{'[0-9a-f]' * 32}"):
        partial.unlink(missing_ok=True)
