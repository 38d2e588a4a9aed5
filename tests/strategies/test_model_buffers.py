import numpy as np

from tagma.exchange import Replies
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.fedavg import FedAvg
from tagma.strategies.algorithms.local import Local
from tagma.strategies.algorithms.server_step import GradientStep
from tagma.strategies.model_buffers import joined_buffers, moved_buffers


def buffers(mean, count):
    return {"mean": np.array(mean, dtype=np.float32), "count": np.array(count)}


def test_floating_buffers_are_joined_by_their_median_and_whole_ones_by_the_upper_one():
    sent = [buffers([1.0], 3), buffers([2.0], 5), buffers([1e9], 4), buffers([7.0], 1)]
    before = [buffers([0.0], 0), buffers([0.0], 0), buffers([6.0], 2)]
    after = joined_buffers(before, sent, np.array([0, 0, 0, 1]))
    assert [(one["mean"].tolist(), int(one["count"])) for one in after] == [
        ([2.0], 4), ([7.0], 1), ([6.0], 2),
    ]  # fmt: skip
    assert after[0]["mean"].dtype == np.float32
    assert after[0]["count"].shape == ()


def test_who_has_no_model_has_no_say():
    before = [buffers([5.0], 2)]
    assert joined_buffers(before, [buffers([1.0], 9)], np.array([-1])) == before


def test_one_client_cannot_set_a_count():
    sent = [buffers([0.0], count) for count in (4, 2**60, 5, 4)]
    (after,) = joined_buffers([buffers([0.0], 0)], sent, np.zeros(4, dtype=int))
    assert after["count"] == 5


def test_buffers_follow_the_clients_whose_rows_move():
    old = [buffers([float(k)], k) for k in range(3)]
    first = buffers([9.0], 9)
    # Row 1 is new and the two behind it move on; the last one is nobody's and never was there.
    before, after = np.array([0, -1, 1, 2, 2]), np.array([0, 1, 2, 3, 3])
    moved = moved_buffers(old, first, before, after, 5)
    assert [int(one["count"]) for one in moved] == [0, 1, 1, 2, 9]


def test_a_model_without_clients_keeps_its_buffers():
    old = [buffers([0.0], 0), buffers([1.0], 1)]
    assert moved_buffers(old, old[0], np.array([0]), np.array([0]), 2) == old


INITIAL = {"w": np.zeros(1), "count": np.array(0)}


def run_of(algorithm, clients):
    run = AlgorithmRun(algorithm, INITIAL)
    run.clients.joined = dict.fromkeys(clients, 1)
    return run


def learnt(run, number, clients, counts):
    request = run.algorithm.ask(run.state, number, np.array(clients))
    vectors = np.ones((len(clients), 1))
    replies = Replies(np.array(clients), vectors, np.ones(len(clients), dtype=int))
    run.learn(request, replies, {c: {"count": np.array(counts[c])} for c in clients})


def test_a_late_client_does_not_shift_the_buffers_of_others():
    run = run_of(Local(optimiser=GradientStep(step=1.0)), [2, 5])
    learnt(run, 1, [2, 5], {2: 20, 5: 50})
    run.clients.joined[3] = 2
    run.admit(Replies(np.array([3]), np.ones((1, 1)), np.ones(1, dtype=int)))
    learnt(run, 2, [2, 3], {2: 21, 3: 30})
    _, which = run.algorithm.serve(run.state, np.array([2, 3, 5]))
    assert [int(run.buffers_of(k)["count"]) for k in which.tolist()] == [21, 30, 50]


class Without5(FedAvg):
    def counted(self, before, after, clients):
        return clients != 5


def test_only_clients_whose_replies_counted_have_a_say_in_buffers():
    run = run_of(Without5(aggregate=mean, optimiser=GradientStep(step=1.0)), [2, 5])
    learnt(run, 1, [2, 5], {2: 20, 5: 50})
    assert run.buffers_of(0)["count"] == 20


def test_local_models_begin_with_the_first_buffers_whenever_they_are_computed():
    run = run_of(Local(optimiser=GradientStep(step=1.0)), [2])
    learnt(run, 1, [2], {2: 20})
    newcomers = run.algorithm.introduce(run.state, np.array([0]))
    assert run.buffers_sent(newcomers, 0)["count"] == 0
    assert run.buffers_sent(run.algorithm.ask(run.state, 2, np.array([2])), 0)["count"] == 20
