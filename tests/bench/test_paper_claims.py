import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import ttest_1samp

from tagma.bench.reproduce import (
    estimation,
    high_dimension,
    k_clusters,
    misclustering,
    ranking,
    theory,
    two_clusters,
)
from tagma.bench.reproduce.experiment import values
from tagma.bench.reproduce.paper_claims import (
    Claim,
    Summary,
    as_markdown,
    bootstrap,
    median_over,
    number,
    over,
    quartiles,
    summarise,
)
from tagma.errors import TagmaError

RUNS = [estimation.EXPERIMENT, theory.EXPERIMENT, ranking.EXPERIMENT, misclustering.EXPERIMENT]
ARRAYS = [high_dimension.EXPERIMENT, k_clusters.EXPERIMENT, two_clusters.EXPERIMENT]


def test_the_interval_is_students():
    sample = [1.0, 2.0, 4.0, 7.0]
    ours = summarise(sample)
    theirs = ttest_1samp(sample, 0).confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.deviation == pytest.approx(np.std(sample, ddof=1))


def test_one_trial_has_no_interval_and_decides_nothing():
    for summary in (summarise([3.0]), bootstrap(over, [3.0], [1.0])):
        assert str(summary) == "3.000 (no interval)"
        assert summary.at_least(1) == summary.at_most(1) == "undecided"


def test_the_whole_interval_decides():
    summary = Summary(2.0, 0.5, 1.0, 3.0)
    assert summary.at_least(1) == summary.at_most(3) == "yes"
    assert summary.at_least(2) == summary.at_most(2) == summary.within(0, 2) == "undecided"
    assert summary.at_least(3.1) == summary.at_most(0.9) == summary.within(4, 5) == "no"
    assert summary.mean_within(1.9, 2.1) == "yes"
    assert summary.mean_within(2.1, 3) == "no"


def test_the_bootstrap_agrees_with_scipys():
    source = np.random.default_rng(3)
    first = source.exponential(size=30)
    second = first + source.exponential(size=30)
    ours = bootstrap(over, second, first)
    theirs = scipy_bootstrap(
        (second, first), over, paired=True, vectorized=False, method="percentile",
        n_resamples=4000, random_state=source,
    )  # fmt: skip
    assert ours.mean == pytest.approx(second.mean() / first.mean())
    assert ours.deviation == pytest.approx(theirs.standard_error, rel=0.1)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), rel=0.05)
    assert ours == bootstrap(over, second, first)


def test_trials_are_drawn_jointly():
    """Twice the same sample: the ratio is 2 in every draw."""
    sample = np.array([1.0, 5.0, 100.0])
    assert bootstrap(over, 2 * sample, sample).deviation == pytest.approx(0)


def test_diverged_runs_have_a_median_or_none():
    rows = [{"method": "a", "x": value} for value in (1.0, 2.0, 4.0, 5.0, None)]
    sample = values(rows, "x", method="a")
    assert quartiles(sample) == "median 4.000, quartiles 2.000 to 5.000; 1 of 5 diverged"
    assert quartiles([np.inf] * 3).startswith("median diverged")
    assert bootstrap(median_over, [np.inf] * 3, [1.0] * 3).at_least(100) == "undecided"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "0.123"), (12.345, "12.35"), (1234567.0, "1.23e+06"), (0.0, "0.000")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_the_table_says_how_it_was_made_and_whether_claims_hold():
    claims = [Claim("||a||", "b", "yes"), Claim("c", "d", "undecided"), Claim("e", "f", "-")]
    page = as_markdown("T", "`tagma x` with Tagma 1", claims, "note")
    assert "Made by `tagma x` with Tagma 1." in page
    assert r"| \|\|a\|\| | b | yes |" in page
    assert "| c | d | undecided |" in page
    assert "| e | f | - |" in page


def rows_of(experiment, error, trials=3):
    """Rows as from runs whose estimation error is a function of the label."""
    return [
        {"trial": trial} | row
        for label in dict.fromkeys(cell.method for cell in experiment.cells(1, 0, []))
        for trial in range(trials)
        for row in experiment.measure(
            label,
            {
                "estimation_error": None
                if error(label) is None
                else error(label) * (1 + trial / 1e3),
                "misclustering": 0.1,
            },
        )
    ]


@pytest.mark.slow
def test_the_claims_about_estimation_follow_the_rows():
    def papers(method):
        clustering, optimiser = method.rsplit(" + ", 1)
        if optimiser == "FA":
            return 1e3
        return {"KM": 1.0, "KGM": 0.5}.get(clustering, 0.4) * (2 if optimiser == "SM" else 1)

    claims = estimation.EXPERIMENT.claims(rows_of(estimation.EXPERIMENT, papers))
    assert all(claim.holds == "yes" for claim in claims if claim.holds != "-")
    claims = estimation.EXPERIMENT.claims(rows_of(estimation.EXPERIMENT, lambda method: 1.0))
    holding = [claim.says for claim in claims if claim.holds == "yes"]
    assert all("FA is about as good as TM" in says for says in holding)


def test_diverged_runs_are_told_in_the_table_and_in_the_figure(tmp_path):
    rows = rows_of(estimation.EXPERIMENT, lambda method: None if method.endswith("FA") else 1.0)
    claims = estimation.EXPERIMENT.claims(rows)
    assert any("3 of 3 diverged" in claim.measured for claim in claims)
    assert all(claim.holds != "yes" for claim in claims if "orders of magnitude" in claim.says)
    estimation.EXPERIMENT.draw(rows, tmp_path / "figure")
    assert ">diverged<" in (tmp_path / "figure.svg").read_text()


@pytest.mark.slow
def test_slopes_are_recovered_from_exact_power_laws():
    def law(label):
        sweep, _, x = label.rpartition(" = ")
        x = float(x)
        if sweep == "alpha":
            return np.sqrt(1 + x**2)
        return x**-0.5 if sweep in ("n", "M") else 1.0

    claims = theory.EXPERIMENT.claims(rows_of(theory.EXPERIMENT, law))
    slopes = [float(claim.measured.split(" ")[0]) for claim in claims]
    assert slopes == pytest.approx([-0.5, -0.5, 1, 0.5, 0.5], abs=0.01)
    assert [claim.holds for claim in claims] == ["yes"] * 5
    steep = theory.EXPERIMENT.claims(rows_of(theory.EXPERIMENT, lambda label: law(label) ** 3))
    assert [claim.holds for claim in steep][:2] == ["no", "no"]


def test_the_rows_of_theory_name_sweep_and_value():
    row = theory.EXPERIMENT.measure("d, filter = 40", {"estimation_error": 2.0})[0]
    assert (row["method"], row["sweep"], row["x"]) == ("iterative filtering", "d, filter", 40.0)
    assert row["error"] == pytest.approx(2 * np.sqrt(40))


def test_a_settled_method_keeps_its_last_value():
    metrics = {name: [0.5, 0.25] for name in misclustering._CURVES.values()}
    metrics |= {"misclustering": 0.25, "r_1": 2.0, "floor": 3.0, "rho": 0.5}
    (row,) = misclustering.EXPERIMENT.measure("K-means", metrics)
    assert row["A_0"] == row["Lambda_0"] == 0.5
    assert row["G^U_20"] == 0.25
    assert (row["r_1"], row["floor"], row["rho"]) == (2.0, 3.0, 0.5)


def test_array_experiments_have_one_row_per_setting_and_method():
    rows = high_dimension.EXPERIMENT.measure(
        "d = 10, outliers: ray", {"oracle": 1.0, "filter": 2.0, "mean": 3.0}
    )
    assert [(row["method"], row["error"]) for row in rows] == [
        ("oracle", 1.0), ("filter", 2.0), ("mean", 3.0),
    ]  # fmt: skip
    result = dict.fromkeys(["mean", "trimmed", "filter", "2-means", "trimmed 2-means"], 0.1)
    rows = two_clusters.EXPERIMENT.measure("20 % outliers", result)
    assert {row["method"] for row in rows} >= {"2-means", "trimmed 2-means", "plain mean"}


@pytest.mark.parametrize("experiment", RUNS, ids=lambda e: e.name)
@pytest.mark.parametrize("override", ["seed=99", "++seed=99", "clustering=kmeans"])
def test_overrides_that_would_make_a_label_lie_are_refused(experiment, override):
    if experiment is theory.EXPERIMENT and override == "clustering=kmeans":
        override = "attack.fraction=0.1"
    with pytest.raises(TagmaError, match=r"use --seed|set this themselves"):
        experiment.cells(1, 0, [override])


@pytest.mark.parametrize("experiment", ARRAYS, ids=lambda e: e.name)
def test_experiments_on_arrays_have_nothing_to_override(experiment):
    with pytest.raises(TagmaError, match="no settings to override"):
        experiment.cells(1, 0, ["rounds=3"])


def test_notes_speak_of_the_settings_that_were_used():
    for experiment, override, words in (
        (misclustering.EXPERIMENT, "task.samples=40", "n = 40, d = 100"),
        (ranking.EXPERIMENT, "clustering.restarts=200", "best of 200"),
        (estimation.EXPERIMENT, "task.samples=100", "= 4.0 (n = 100"),
    ):
        assert words in " ".join(experiment.notes([override]).split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "experiment",
    [estimation.EXPERIMENT, theory.EXPERIMENT, ranking.EXPERIMENT],
    ids=lambda e: e.name,
)
def test_figures_are_drawn_in_both_formats_also_from_one_trial(experiment, tmp_path):
    experiment.draw(rows_of(experiment, lambda method: 1.0, trials=1), tmp_path / "figure")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
