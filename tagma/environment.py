"""The process's environment, changed for a while."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from warnings import catch_warnings


@contextmanager
def libraries_change_nothing() -> Iterator[None]:
    """Environment and filters of warnings as they were: some libraries change them on import."""
    before = dict(os.environ)
    try:
        with catch_warnings():
            yield
    finally:
        for added in os.environ.keys() - before.keys():
            del os.environ[added]
        os.environ.update(before)


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set the variables, for this process and those that it starts; then as it was before."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
