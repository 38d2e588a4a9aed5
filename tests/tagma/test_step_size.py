import pytest

from tagma.step_size import step_of


def test_one_over_the_median_of_what_is_reported():
    assert step_of([2.0, 4.0, 5.0]) == pytest.approx(1 / 4)


def test_a_minority_may_report_anything():
    honest = [2.0, 3.0, 4.0]
    for lies in ([1e300, 1e300], [1e-300, 1e-300]):
        assert 1 / 4 <= step_of([*honest, *lies]) <= 1 / 2


@pytest.mark.parametrize("reported", [[], [0.0], [0.0, 0.0]])
def test_one_where_nothing_was_measured(reported):
    assert step_of(reported) == 1.0


def test_clients_without_examples_have_no_say():
    assert step_of([0.0, 0.0, 0.0, 5.0]) == pytest.approx(1 / 5)
