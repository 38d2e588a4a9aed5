import numpy as np
import pytest
from scipy.stats import ttest_1samp

from bench.reproduce import estimation, misclustering, theory
from bench.reproduce.claims import Claim, as_markdown, number, summarise


def test_the_interval_is_students():
    sample = [1.0, 2.0, 4.0, 7.0]
    ours = summarise(sample)
    theirs = ttest_1samp(sample, 0).confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.deviation == pytest.approx(np.std(sample, ddof=1))


def test_one_trial_has_no_interval():
    assert summarise([3.0]).low == summarise([3.0]).high == 3.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "0.123"), (12.345, "12.35"), (1234567.0, "1.23e+06"), (0.0, "0.000")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_the_table_says_whether_a_claim_holds():
    page = as_markdown(
        "T", [Claim("a", "b", True), Claim("c", "d", False), Claim("e", "f", None)], ""
    )
    assert "| a | b | yes |" in page
    assert "| c | d | no |" in page
    assert "| e | f | - |" in page


def rows_of(experiment, error):
    return [
        {"method": method, "trial": trial, "estimation_error": error(method) * (1 + 0.01 * trial)}
        for method in dict.fromkeys(cell.method for cell in experiment.cells(1, 0, []))
        for trial in range(3)
    ]


def test_the_claims_about_estimation_follow_the_rows():
    def papers(method):
        clustering, optimiser = method.rsplit(" + ", 1)
        if optimiser == "FA":
            return 1e3
        return {"KM": 1.0, "KGM": 0.5}.get(clustering, 0.4) * (2 if optimiser == "SM" else 1)

    claims = estimation.EXPERIMENT.claims(rows_of(estimation.EXPERIMENT, papers))
    assert all(claim.holds for claim in claims if claim.holds is not None)
    claims = estimation.EXPERIMENT.claims(rows_of(estimation.EXPERIMENT, lambda method: 1.0))
    assert not any(claim.holds for claim in claims)


def test_slopes_are_recovered_from_exact_power_laws():
    def law(method):
        sweep, _, x = method.partition(" = ")
        x = float(x)
        if sweep == "alpha":
            return np.sqrt(1 + x**2)
        return x**-0.5 if sweep in ("n", "M") else 1.0

    claims = theory.EXPERIMENT.claims(rows_of(theory.EXPERIMENT, law))
    assert [claim.measured for claim in claims] == ["-0.50", "-0.50", "1.00", "0.50", "0.50"]
    assert all(claim.holds for claim in claims)


def test_a_settled_method_keeps_its_last_value():
    row = misclustering.EXPERIMENT.measure(
        {"misclustering_per_iteration": [0.5, 0.25], "misclustering": 0.25}
    )
    assert row["iteration 0"] == 0.5
    assert row["iteration 20"] == 0.25


@pytest.mark.parametrize(
    "experiment", [estimation.EXPERIMENT, theory.EXPERIMENT], ids=lambda e: e.name
)
def test_figures_are_drawn_in_both_formats(experiment, tmp_path):
    experiment.draw(rows_of(experiment, lambda method: 1.0), tmp_path / "figure")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
