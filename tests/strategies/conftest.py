"""What tests of the arithmetic share."""

import pytest

from tagma.strategies.numerics.kernels import crossovers


@pytest.fixture(params=["with AVX-512", "without"])
def every_processor(request, monkeypatch):
    """The ways that are fastest on each kind of processor, whatever this one is."""
    tables = {"with AVX-512": crossovers._WITH_AVX512, "without": crossovers._WITHOUT}
    monkeypatch.setattr(crossovers, "_CHOSEN", tables[request.param])
