"""Tables for whoever works in Python."""

import numpy as np
import pytest

from tagma.launch.frames import NUMBER, TEXT, WHOLE, YES, frame

KINDS = {"client": WHOLE, "assigned": WHOLE, "byzantine": YES, "loss": NUMBER, "work": TEXT}
ROWS = [
    {"client": "0", "assigned": "", "byzantine": "1", "loss": "0.5", "work": "gradient"},
    {"client": "1", "assigned": "2", "byzantine": "", "loss": "", "work": ""},
]


def test_a_column_has_its_kind_whatever_is_in_it():
    pandas = pytest.importorskip("pandas")
    for rows in (ROWS, ROWS[:1], []):
        table = frame(rows, KINDS)
        assert [str(kind) for kind in table.dtypes] == [
            "Int64", "Int64", "boolean", "float64", "object",
        ]  # fmt: skip
    table = frame(ROWS, KINDS)
    assert table["assigned"].tolist() == [pandas.NA, 2]
    assert table["byzantine"].tolist() == [True, pandas.NA]
    assert len(table[table["byzantine"].fillna(value=False)]) == 1


def test_without_pandas_what_nobody_knows_is_nan(monkeypatch):
    monkeypatch.setattr("tagma.launch.frames.find_spec", lambda name: None)
    table = frame(ROWS, KINDS)
    assert table["client"].dtype == np.int64
    assert np.array_equal(table["assigned"], [np.nan, 2], equal_nan=True)
    assert np.array_equal(table["byzantine"], [1, np.nan], equal_nan=True)
    assert table["work"].tolist() == ["gradient", ""]
    assert frame(ROWS[:1], KINDS)["byzantine"].dtype == bool
