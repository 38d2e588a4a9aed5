import numpy as np

from tagma.strategies.model_buffers import joined_buffers


def buffers(mean, count):
    return {"mean": np.array(mean, dtype=np.float32), "count": np.array(count)}


def test_floating_buffers_are_joined_by_their_median_and_whole_ones_by_their_maximum():
    sent = [buffers([1.0], 3), buffers([2.0], 5), buffers([1e9], 4), buffers([7.0], 1)]
    before = [buffers([0.0], 0), buffers([0.0], 0), buffers([6.0], 2)]
    after = joined_buffers(before, sent, np.array([0, 0, 0, 1]))
    assert [(one["mean"].tolist(), int(one["count"])) for one in after] == [
        ([2.0], 5), ([7.0], 1), ([6.0], 2),
    ]  # fmt: skip
    assert after[0]["mean"].dtype == np.float32
    assert after[0]["count"].shape == ()


def test_who_has_no_model_has_no_say():
    before = [buffers([5.0], 2)]
    assert joined_buffers(before, [buffers([1.0], 9)], np.array([-1])) == before
