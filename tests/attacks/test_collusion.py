"""Omniscient attacks as (request, replies) -> replies, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from tagma.attacks.attacked_grid import AttackedGrid
from tagma.attacks.base import LocalAttack, OmniscientAttack
from tagma.attacks.collusion import Collusion
from tagma.attacks.schedule import Adversary, Phase, Squad
from tagma.client.app import app as client_app
from tagma.errors import FederationError, SettingError
from tagma.exchange import CHOICE, FIT, GRADIENT, Replies, Request
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.launch.run import check
from tagma.server.wiring import algorithm_of
from tagma.settings import compose, join_overrides
from tagma.strategies.flower import AlgorithmStrategy
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL

GROUPS = np.array([0, 0, 1, 1, 0, 1])
"""Of clients 0 to 5; 1 and 4 are Byzantine."""
BYZANTINE = np.array([False, True, False, False, True, False])


class Send(OmniscientAttack):
    """Sends a number everywhere and remembers what it saw."""

    def __init__(self, number=7.0):
        self.number = number
        self.seen = []

    def forge(self, view):
        self.seen.append(view)
        return np.full_like(view.own, self.number)


def no_program(*asked):
    raise AssertionError("nobody asks the clients again")


def collusion(
    *squads,
    groups=GROUPS,
    rehearsal=lambda request, replies: 0.0,
    program=no_program,
    memory=None,
):
    """Squads are (attack, clients); without any, one that sends 7."""
    made = []
    for attack, clients in squads:
        mask = np.zeros(6, dtype=bool)
        mask[clients] = True
        made.append(Squad(mask, (Phase(attack),)))
    adversary = Adversary(tuple(made))
    return Collusion(
        adversary,
        groups=groups,
        rehearsal=rehearsal,
        program=program,
        seed=0,
        memory=memory,
    )


def replies_of(*clients, dtype=float, **extras):
    vectors = np.array([[10.0 * client, 1.0] for client in clients], dtype)
    numbers = np.array(clients)
    return Replies(numbers, vectors, 100 + numbers, extras)


def request_of(*clients, work=GRADIENT, which=None, models=((1.0, 1.0), (2.0, 2.0))):
    rows = np.array([0] * len(clients) if which is None else which)
    return Request(work, np.array(clients), np.array(models), rows)


EVERYONE = range(6)


def test_only_what_the_byzantine_clients_send_is_changed():
    attack, replies = Send(), replies_of(*EVERYONE, speed=np.arange(6.0))
    before = replies.vectors.copy()
    forged = collusion((attack, [1, 4]))(2, request_of(*EVERYONE), replies)
    assert forged.vectors[BYZANTINE].tolist() == [[7, 7]] * 2
    assert np.array_equal(forged.vectors[~BYZANTINE], before[~BYZANTINE])
    assert np.array_equal(replies.vectors, before)
    for kept in ("clients", "examples"):
        assert np.array_equal(getattr(forged, kept), getattr(replies, kept))
    assert np.array_equal(forged.extras["speed"], replies.extras["speed"])


def test_they_see_every_update_the_models_and_the_groups():
    attack = Send()
    request = request_of(*EVERYONE, which=[0, 0, 1, 1, 1, 1])
    collusion((attack, [1, 4]))(3, request, replies_of(*EVERYONE))
    (view,) = attack.seen
    assert (view.round, view.work) == (3, GRADIENT)
    assert view.clients.tolist() == [1, 4]
    assert view.own.tolist() == [[10, 1], [40, 1]]
    assert view.honest.tolist() == [[0, 1], [20, 1], [30, 1], [50, 1]]
    assert view.own_models.tolist() == [[1, 1], [2, 2]]
    assert view.honest_models.tolist() == [[1, 1], [2, 2], [2, 2], [2, 2]]
    assert view.honest_groups.tolist() == [0, 1, 1, 1]
    assert view.own_groups.tolist() == [0, 0]
    clusters = [(own.tolist(), peers.tolist()) for own, peers in view.clusters()]
    assert clusters == [([0], [0]), ([1], [1, 2, 3])]


def test_of_several_models_the_received_one_is_the_one_that_was_chosen():
    attack = Send()
    models = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    request = Request(GRADIENT, np.arange(6), models, None)
    choices = np.array([2.0, 0.0, 2.0, 1.0, 2.0, 0.0])
    forged = collusion((attack, [1, 4]))(2, request, replies_of(*EVERYONE, **{CHOICE: choices}))
    (view,) = attack.seen
    assert view.own_models.tolist() == [[1, 1], [3, 3]]
    assert view.honest_models.tolist() == [[3, 3], [3, 3], [2, 2], [1, 1]]
    clusters = [(own.tolist(), peers.tolist()) for own, peers in view.clusters()]
    assert clusters == [([0], [3]), ([1], [0, 1])]
    assert np.array_equal(forged.extras[CHOICE], choices)


def test_updates_of_local_training_are_measured_from_the_received_model_gradients_from_zero():
    attack = Send()
    for work in (GRADIENT, "local", FIT):
        collusion((attack, [1]))(2, request_of(*EVERYONE, work=work), replies_of(*EVERYONE))
    gradient, local, fit = (view.origin(np.array([0])) for view in attack.seen)
    assert gradient == 0
    assert local.tolist() == fit.tolist() == [1, 1]


def test_single_precision_stays_single_precision():
    forged = collusion((Send(0.1), [1, 4]))(
        2, request_of(*EVERYONE), replies_of(*EVERYONE, dtype=np.float32)
    )
    assert forged.vectors.dtype == np.float32
    assert forged.vectors[1, 0] == np.float32(0.1)


def test_a_client_whose_number_nobody_knows_is_left_alone_and_not_looked_at():
    attack = Send()
    clients = (0, 1, 2, 99)
    forged = collusion((attack, [1, 4]))(2, request_of(*clients), replies_of(*clients))
    assert forged.vectors.tolist() == [[0, 1], [7, 7], [20, 1], [990, 1]]
    assert attack.seen[0].honest.tolist() == [[0, 1], [20, 1]]


@pytest.mark.parametrize("clients", [(1, 4), (0, 2), (99,)])
def test_without_honest_or_without_byzantine_replies_nothing_is_forged(clients):
    attack = Send()
    forged = collusion((attack, [1, 4]))(2, request_of(*clients), replies_of(*clients))
    assert attack.seen == []
    assert np.array_equal(forged.vectors, replies_of(*clients).vectors)


def test_in_rounds_without_an_attack_nothing_is_forged():
    squad = Squad(BYZANTINE, (Phase(Send(), start=3), Phase(LocalAttack(), start=1, stop=2)))
    colluding = Collusion(
        Adversary((squad,)),
        groups=GROUPS,
        rehearsal=lambda request, replies: 0.0,
        program=no_program,
        seed=0,
    )
    for number, forges in ((1, False), (2, False), (3, True)):
        forged = colluding(number, request_of(*EVERYONE), replies_of(*EVERYONE))
        assert (forged.vectors[1] == 7).all() == forges


def test_where_no_groups_are_known_all_are_one():
    attack = Send()
    collusion((attack, [1, 4]), groups=None)(2, request_of(*EVERYONE), replies_of(*EVERYONE))
    assert attack.seen[0].honest_groups.tolist() == [0] * 4
    assert attack.seen[0].own_groups.tolist() == [0] * 2


def test_who_was_given_the_data_of_no_group_belongs_to_the_nearest_honest_mean():
    attack, groups = Send(), np.where(BYZANTINE, -1, GROUPS)
    collusion((attack, [1, 4]), groups=groups)(2, request_of(*EVERYONE), replies_of(*EVERYONE))
    assert attack.seen[0].own_groups.tolist() == [0, 1]  # means 0 and 100 / 3, own 10 and 40


def test_an_attack_is_tried_with_the_request_and_the_replies_as_they_would_be():
    tried = []

    class Trying(OmniscientAttack):
        def forge(self, view):
            assert view.rehearse(view.own + 1) == 0.5
            return view.own

    def rehearsal(request, replies):
        tried.append((request, replies))
        return 0.5

    request, replies = request_of(*EVERYONE), replies_of(*EVERYONE)
    forged = collusion((Trying(), [1, 4]), rehearsal=rehearsal)(2, request, replies)
    assert tried[0][0] is request
    assert np.array_equal(tried[0][1].vectors - replies.vectors, BYZANTINE[:, None] * np.ones(2))
    assert np.array_equal(forged.vectors, replies.vectors)


def test_squads_know_what_those_before_them_send_but_do_not_take_it_for_honest():
    first, second = Send(7.0), Send(8.0)
    forged = collusion((first, [1]), (second, [4]))(2, request_of(*EVERYONE), replies_of(*EVERYONE))
    assert forged.vectors[[1, 4]].tolist() == [[7, 7], [8, 8]]
    assert np.array_equal(first.seen[0].honest, second.seen[0].honest)


def test_who_joins_late_meets_the_local_models_that_were_sent_before():
    attack = Send()
    colluding = collusion((attack, [1, 4]))
    early = (0, 1, 2, 3, 5)
    colluding(1, request_of(*early, work=FIT), replies_of(*early))
    late = colluding(1, request_of(4, work=FIT), replies_of(4))
    assert late.vectors.tolist() == [[7, 7]]
    view = attack.seen[1]
    assert view.clients.tolist() == [4]
    assert view.honest[:, 0].tolist() == [0, 20, 30, 50]
    assert view.honest_models.tolist() == [[1, 1]] * 4
    assert view.own_models.tolist() == [[1, 1]]


def test_updates_of_a_wrong_shape_are_an_error_that_names_the_attack():
    class Short(OmniscientAttack):
        def forge(self, view):
            return view.own[:, :1]

    with pytest.raises(FederationError, match=r"Short.forge gave an array of shape \(2, 1\)"):
        collusion((Short(), [1, 4]))(2, request_of(*EVERYONE), replies_of(*EVERYONE))


def test_the_random_numbers_are_those_of_round_and_squad():
    def drawn(number, clients):
        attack = Send()
        collusion((attack, clients))(number, request_of(*EVERYONE), replies_of(*EVERYONE))
        return attack.seen[0].random.random()

    assert drawn(2, [1, 4]) == drawn(2, [1, 4])
    assert len({drawn(2, [1, 4]), drawn(3, [1, 4]), drawn(2, [4])}) == 3


@pytest.mark.parametrize("strategy", ["fedavg", "fedprox", "ifca"])
@pytest.mark.parametrize("attack", ["bridge", "fake_cluster", "infiltrate", "split", "starve"])
def test_an_attack_on_local_models_that_nobody_asks_for_is_one_clear_line(attack, strategy):
    settings = compose([*SMALL, f"strategy={strategy}", "optimiser=local", f"attack={attack}"])
    with pytest.raises(SettingError) as error:
        check(settings)
    (line,) = str(error.value).splitlines()
    assert line.startswith("attack=")
    assert line.endswith(
        "forges local models, which this strategy never asks for; use strategy=three_stage or "
        "another attack"
    )


def test_one_with_something_else_to_do_later_is_honest_until_then():
    check(compose([*SMALL, "strategy=ifca", "attack=fake_cluster", "attack.later=sign_flip"]))
    with pytest.raises(SettingError, match=r"attack.later=.* clients choose none"):
        check(compose([*SMALL, "attack=fake_cluster", "attack.later=wrong_choice"]))


def test_who_goes_on_with_the_memory_of_another_sees_what_it_would_have_seen():
    whole, first, second = Send(), Send(), Send()
    memory = {}
    exchanges = [
        (1, request_of(*EVERYONE, work=FIT), replies_of(*EVERYONE)),
        (6, request_of(0, 1, work=FIT), replace(replies_of(0, 1), vectors=np.full((2, 2), 3.0))),
        # After a resume all introduce themselves again, in the name of round 1.
        (1, request_of(*EVERYONE, work=FIT), replies_of(*EVERYONE)),
        (11, request_of(1, 2, work=FIT), replies_of(1, 2)),
    ]
    uninterrupted = collusion((whole, [1, 4]))
    for number, request, replies in (*exchanges[:2], exchanges[3]):
        uninterrupted(number, request, replies)
    before = collusion((first, [1, 4]), memory=memory)
    for number, request, replies in exchanges[:2]:
        before(number, request, replies)
    after = collusion((second, [1, 4]), memory=memory)
    for number, request, replies in exchanges[2:]:
        after(number, request, replies)
    assert whole.seen[-1].honest.tolist() == [[3.0, 3.0], [20.0, 1.0], [30.0, 1.0], [50.0, 1.0]]
    assert second.seen[-1].honest.tolist() == whole.seen[-1].honest.tolist()


class Spoofing(InProcessGrid):
    """The last node also answers for all others, before they do, without a model."""

    def send_and_receive(self, messages, *, timeout=None):
        replies = list(super().send_and_receive(messages, timeout=timeout))
        spoofs = []
        for reply in replies[:-1]:
            spoof = type(reply)(replies[-1].content.copy(), reply_to=messages[-1])
            del spoof.content["arrays"]
            spoof.metadata.__dict__["_reply_to_message_id"] = reply.metadata.reply_to_message_id
            spoofs.append(spoof)
        return [*spoofs, *replies]


def test_what_a_node_says_for_others_disarms_no_attack():
    settings = compose([*SMALL, "attack=ipm", "rounds=1"])
    task = task_of(settings)
    grid = Spoofing(client_app, 20, join_overrides(settings.overrides))
    strategy = AlgorithmStrategy(algorithm_of(settings), task.initial())
    squads = ((Send(), [1, 4]),)
    attacked = AttackedGrid(grid, collusion(*squads), sound=strategy.sound, layout=layout_of(task))
    messages = strategy.configure_train(1, None, None, attacked)
    strategy.aggregate_train(1, attacked.send_and_receive(messages))
    sevens = (strategy.outcome.replies.vectors == 7).all(axis=1)
    assert np.flatnonzero(sevens).tolist() == [1, 4]
    assert [reason for _, reason in strategy.outcome.rejected] == ["unsolicited"] * 19


def test_who_answers_as_claimed_answers_as_if_its_loss_were_moved_to_its_claim():
    attack, asked = Send(), []

    def program(number, request, clients, models):
        """Local models at 10 times the number, losses ||w - it||^2; trained models end halfway."""
        asked.append((number, request.work, clients.tolist()))
        own = np.array([[10.0 * client, 1.0] for client in clients.tolist()])
        return {FIT: own, GRADIENT: 2 * (models - own), "local": (models + own) / 2}[request.work]

    memory = {}
    colluding = collusion((attack, [1, 4]), program=program, memory=memory)
    colluding(1, request_of(*EVERYONE, work=FIT), replies_of(*EVERYONE))
    assert attack.seen[0].as_claimed().tolist() == [[10, 1], [40, 1]]  # nothing is claimed yet
    which = [0, 0, 1, 1, 1, 1]
    colluding(2, request_of(*EVERYONE, which=which), replies_of(*EVERYONE))
    view = attack.seen[1]
    assert view.claims.tolist() == [[7, 7], [7, 7]]
    assert view.honest_claims[:, 0].tolist() == [0, 20, 30, 50]
    # Models (1, 1) and (2, 2), both clients' local models (7, 7).
    assert view.as_claimed().tolist() == [[-12, -12], [-10, -10]]
    assert asked == [(2, FIT, [1, 4]), (2, GRADIENT, [1, 4])]
    colluding(3, request_of(*EVERYONE, which=which, work="local"), replies_of(*EVERYONE))
    assert attack.seen[2].as_claimed().tolist() == [[4, 4], [4.5, 4.5]]
    assert asked[2:] == [(3, "local", [1, 4])]  # local models are found once
    resumed = Send()
    after = collusion((resumed, [1, 4]), program=program, memory=memory)
    after(4, request_of(*EVERYONE, which=which), replies_of(*EVERYONE))
    assert resumed.seen[0].as_claimed().tolist() == [[-12, -12], [-10, -10]]


def test_where_nobody_was_asked_for_local_models_nobody_has_claimed_any():
    attack = Send()
    collusion((attack, [1, 4]))(2, request_of(*EVERYONE), replies_of(*EVERYONE))
    (view,) = attack.seen
    assert len(view.claims) == len(view.honest_claims) == 0
