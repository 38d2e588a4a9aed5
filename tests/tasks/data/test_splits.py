import numpy as np
import pytest

from tagma.tasks.data.splits import Drawing, Pool, Skewed, drawn, shared_out

POOL = Pool(np.arange(100, 160), np.arange(100))


def drawing(samples, labels=(0, 1, 0, 1, 0), pools=None, seed=3):
    both = pools or [POOL, POOL]
    return Drawing(seed, np.array(labels), both, samples)


def test_clients_of_a_cluster_share_its_examples_out():
    rows = shared_out(drawing((20, 20)))
    parts = [rows(client) for client in range(5)]
    assert all(len(part) == 20 for part in parts)
    first = np.concatenate([parts[0], parts[2], parts[4]])
    assert sorted(first.tolist()) == list(range(100, 160))
    assert len(set(parts[1].tolist()) & set(parts[3].tolist())) == 0
    assert set(parts[0].tolist()) & set(parts[1].tolist()), "clusters see the same images"


def test_without_a_number_everybody_has_an_equal_share():
    rows = shared_out(drawing(None, labels=(0,) * 7, pools=[POOL]))
    parts = [rows(client) for client in range(7)]
    assert [len(part) for part in parts] == [9, 9, 9, 9, 8, 8, 8]
    assert sorted(np.concatenate(parts).tolist()) == list(range(100, 160))


def test_too_few_examples_cannot_be_shared_out():
    assert shared_out(drawing((21, 21))) is None
    assert shared_out(drawing((20, 20))) is not None


def test_clients_draw_on_their_own_whoever_else_there_is():
    five, two = drawing((10, 30)), drawing((10, 30), labels=(0, 1))
    for client in range(2):
        rows = drawn(five, client)
        assert 10 <= len(rows) <= 30
        assert len(set(rows.tolist())) == len(rows)
        assert np.array_equal(rows, drawn(two, client))
    assert not np.array_equal(drawn(five, 0), drawn(drawing((10, 30), seed=4), 0))


TARGETS = np.arange(160) % 4


def skewed(alpha, samples=(40, 40)):
    return Skewed(drawing(samples), TARGETS, 4, alpha)


def shares(rows):
    return np.bincount(TARGETS[rows], minlength=4) / len(rows)


def test_a_small_alpha_leaves_few_classes_and_a_large_one_all():
    narrow = [shares(skewed(0.01, (10, 10)).train(client)).max() for client in range(5)]
    wide = [shares(skewed(1000.0).train(client)).max() for client in range(5)]
    assert np.median(narrow) > 0.9
    assert max(wide) < 0.5


def test_classes_that_run_out_leave_their_part_to_the_others():
    rows = skewed(0.01, (40, 40)).train(0)  # nearly one class only, which has 15 rows
    assert len(set(rows.tolist())) == len(rows) == 40
    assert np.bincount(TARGETS[rows], minlength=4).max() == 15


@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_tests_follow_a_clients_own_shares(alpha):
    split = skewed(alpha)
    for client in range(5):
        test = split.test(client)
        assert set(test.tolist()) <= set(range(100))
        assert 1 <= len(test) <= 100
        assert len(set(test.tolist())) == len(test)
    apart = [np.abs(shares(split.test(a)) - split._shares(a)).sum() for a in range(5)]
    strangers = [np.abs(shares(split.test(a)) - split._shares((a + 1) % 5)).sum() for a in range(5)]
    assert np.mean(apart) < 0.5 * np.mean(strangers)
