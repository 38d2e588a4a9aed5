"""byzfl's vectors beside ours; where byzfl is not installed, beside stand-ins."""

from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from tagma.bench.kernels import byzfl_agreement
from tagma.bench.kernels.byzfl_agreement import BOUND, Pair, differences, main
from tagma.errors import TagmaError


@pytest.mark.skipif(find_spec("byzfl") is None, reason="byzfl is not installed")
def test_what_both_have_is_the_same():
    from tagma.bench.speed.byzfl_import import byzfl_module

    for pair, apart in differences(byzfl_module(), 1):
        assert apart <= BOUND or (not pair.same and pair.convention), pair.name


@pytest.fixture
def stand_in(monkeypatch):
    """The two statistics of a library of somebody else, of which one changes its input."""

    def spoiling(rows):
        rows[:] = rows * 2
        return rows.mean(axis=0) / 2

    def pairs(byzfl, m, f):
        yield Pair("mean", spoiling, lambda rows: rows.mean(axis=0))
        yield Pair("shifted", lambda x: x[0] + byzfl.shift, lambda x: x[0], same=byzfl.same)

    monkeypatch.setattr(byzfl_agreement, "_pairs", pairs)
    found = SimpleNamespace(shift=0.0, same=True)
    monkeypatch.setattr(byzfl_agreement, "byzfl_module", lambda: found)
    return found


def test_what_should_be_the_same_and_is_not_fails(stand_in, capsys):
    main(["--seeds", "1"])
    stand_in.shift = 0.1
    with pytest.raises(TagmaError, match="not the same as byzfl's: shifted"):
        main(["--seeds", "1"])
    stand_in.same = False
    main(["--seeds", "1"])
    assert "shifted" in capsys.readouterr().out


def test_differences_are_the_largest_in_sizes_of_the_rows(stand_in):
    stand_in.shift = np.array(0.5)
    found = {pair.name: apart for pair, apart in differences(stand_in, 2)}
    assert found["mean"] < 1e-12
    assert 0.1 < found["shifted"] < 0.5  # entries are around 1, and larger where they are Byzantine


def test_without_byzfl_it_is_one_clear_line(monkeypatch):
    def absent():
        raise ImportError("byzfl is not installed")

    monkeypatch.setattr(byzfl_agreement, "byzfl_module", absent)
    with pytest.raises(TagmaError, match=r"no byzfl .*--help"):
        main([])
