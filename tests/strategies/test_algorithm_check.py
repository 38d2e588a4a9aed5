"""What an algorithm gets wrong is one line that names its class and the method."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tagma.errors import FederationError
from tagma.exchange import CHOICE, EVALUATE, NO_MODEL, TRAIN, Expected, Replies, Request
from tagma.layout import Layout
from tagma.strategies.algorithm_check import CheckedAlgorithm
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.algorithm import AlgorithmBase

CLIENTS = np.array([2, 5, 7])
INITIAL = {"w": np.zeros(4, dtype=np.float32)}


@dataclass(frozen=True)
class Total:
    model: np.ndarray
    rounds: int = 0


@dataclass(frozen=True)
class Held:
    anything: object


class Summing(AlgorithmBase):
    """Right; those below are wrong in one thing each."""

    def start(self, initial):
        return Total(initial)

    def ask(self, state, round_number, clients):
        return Request(TRAIN, clients, state.model[None], np.zeros(len(clients), dtype=np.int64))

    def learn(self, state, request, replies):
        return Total(state.model + replies.vectors.sum(axis=0), state.rounds + 1)

    def serve(self, state, clients):
        return state.model[None], np.zeros(len(clients), dtype=np.int64)


def checked(method=None, give=None):
    """The algorithm with one method that passes its answer through `give`."""
    if method is None:
        return CheckedAlgorithm(Summing(), Layout.of(INITIAL))

    def wrong(self, *given):
        return give(getattr(Summing, method)(self, *given))

    return CheckedAlgorithm(type("Mine", (Summing,), {method: wrong})(), Layout.of(INITIAL))


def replies(count=3):
    return Replies(
        CLIENTS[:count], np.ones((count, 4), dtype=np.float32), np.ones(count, dtype=np.int64)
    )


def play(algorithm):
    """One round, with a newcomer."""
    state = algorithm.start(INITIAL["w"].copy())
    algorithm.introduce(state, CLIENTS)
    request = algorithm.ask(state, 1, CLIENTS)
    after = algorithm.learn(state, request, replies())
    algorithm.counted(state, after, CLIENTS)
    algorithm.everyone(after, 2)
    algorithm.recognises(after, 2, np.ones(4))
    algorithm.admit(after, 2, replies(1))
    return algorithm.serve(after, CLIENTS)


def test_what_is_right_passes_as_it_is():
    models, which = play(checked())
    assert (models.tolist(), which.tolist()) == ([[3.0] * 4], [0, 0, 0])


def asked(**changes):
    return lambda request: replace(request, **changes)


WRONG = [
    ("start", lambda state: state.model,
     "gave an array of float32 and shape (4,) instead of a dataclass"),
    ("start", lambda state: Total, "gave a type instead of a dataclass"),
    ("start", lambda state: Held([1]),
     "gave a state that cannot be checkpointed (state.anything: a state cannot hold a list)"),
    ("learn", lambda state: Total(state.model, "1"),
     "gave a state that cannot be checkpointed (rounds: '1' is no int)"),
    ("learn", lambda state: None, "gave a NoneType instead of a dataclass"),
    ("learn", lambda state: Held(1), "gave a Held, another class than start"),
    ("admit", lambda state: {}, "gave a dict instead of a dataclass"),
    ("ask", lambda request: None, "gave a NoneType instead of a Request"),
    ("ask", asked(work=EVALUATE), "asks for 'evaluate', which is no work"),
    ("ask", asked(clients=[2, 5, 7]), "has a list for clients instead of their numbers"),
    ("ask", asked(clients=CLIENTS[::-1]), "asks clients that are not in ascending order"),
    ("ask", asked(clients=np.array([2, 5, 6])), "asks clients that it was not offered"),
    ("ask", asked(models=np.zeros(4, np.float32)), "gave models of shape (4,) instead of (K, 4)"),
    ("ask", asked(models=np.zeros((1, 4), dtype=int)),
     "gave models of int64 instead of float32; use .astype(initial.dtype)"),
    ("ask", asked(which=np.zeros(2, dtype=int)), "gave which of shape (2,) instead of (3,)"),
    ("ask", asked(which=np.zeros(3)),
     "gave an array of float64 and shape (3,) for which instead of whole numbers"),
    ("ask", asked(which=np.array([0, 1, -1])), "gave which beyond its 1 models (-1: none)"),
    ("ask", asked(which=None, models=np.zeros((0, 4), np.float32)),
     "sends all models to everybody (which=None), and has none"),
    ("ask", asked(settings={"mu": "1"}), "has settings['mu']='1', which is no number"),
    ("ask", asked(settings={"mu": np.nan}), "has settings['mu']=nan, which is no number"),
    ("ask", asked(expects=[CHOICE]), "has a list where numbers need names"),
    ("ask", asked(expects={CHOICE: (0, 1)}), "has expects['choice']=(0, 1), which is no Expected"),
    ("introduce", lambda nothing: Request(
        TRAIN, CLIENTS[:2], np.zeros((1, 4), np.float32), np.zeros(2, dtype=int)
    ), "must ask every newcomer"),
    ("serve", lambda served: served[0],
     "gave an array of float32 and shape (1, 4) instead of (models, which)"),
    ("serve", lambda served: (served[0][0], served[1]),
     "gave models of shape (4,) instead of (K, 4)"),
    ("serve", lambda served: (served[0].astype(float), served[1]),
     "gave models of float64 instead of float32; use .astype(initial.dtype)"),
    ("serve", lambda served: (served[0], served[1] - 2),
     "gave which beyond its 1 models (-1: none)"),
    ("counted", lambda mask: mask[1:],
     "gave an array of bool and shape (2,) instead of 3 booleans"),
    ("everyone", lambda answer: None, "gave a NoneType instead of True or False"),
    ("recognises", lambda answer: 0.5, "gave a float instead of True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "give", "said"), WRONG)
def test_what_is_wrong_is_one_line(method, give, said):
    with pytest.raises(FederationError) as problem:
        play(checked(method, give))
    assert str(problem.value) == f"strategy: Mine.{method} {said}"


def test_some_of_the_clients_may_be_asked_and_numbers_be_expected():
    some = asked(
        clients=CLIENTS[1:],
        which=None,
        settings={"mu": np.float32(1)},
        expects={CHOICE: Expected(0, 0, whole=True)},
    )
    play(checked("ask", some))


class InPlace(Summing):
    def learn(self, state, request, replies):
        total = state.model
        total += replies.vectors.sum(axis=0)
        return Total(total)


class OfReplies(Summing):
    def learn(self, state, request, replies):
        replies.vectors[0] = 0
        return state


class OfTheState(Summing):
    def learn(self, state, request, replies):
        state.rounds = 1
        return state


@pytest.mark.parametrize("wrong", [InPlace, OfReplies, OfTheState])
def test_a_method_that_changes_what_it_was_given_is_stopped(wrong):
    with pytest.raises(FederationError) as problem:
        play(CheckedAlgorithm(wrong(), Layout.of(INITIAL)))
    assert str(problem.value) == (
        f"strategy: {wrong.__name__}.learn changes what it was given; copy an array before you "
        "write to it"
    )


class Failing(Summing):
    def serve(self, state, clients):
        raise ValueError("of its own")


def test_other_errors_of_an_algorithm_name_it():
    said = r"^strategy: Failing.serve failed \(ValueError: of its own\)$"
    with pytest.raises(FederationError, match=said):
        play(CheckedAlgorithm(Failing(), Layout.of(INITIAL)))


@dataclass
class Loose:
    model: np.ndarray


def test_a_state_that_could_be_changed_is_refused():
    loose = checked("start", lambda *given: Loose(np.zeros(2)))
    with pytest.raises(FederationError, match="gave a Loose, which is no frozen dataclass"):
        play(loose)


@pytest.mark.parametrize("name", ["work", "server-round", "num-examples", "client"])
def test_names_that_messages_use_are_refused(name):
    for given in ({"settings": {name: 1.0}}, {"expects": {name: Expected(0, 1)}}):
        with pytest.raises(FederationError, match="choose another name"):
            play(checked("ask", asked(**given)))


def test_nobody_is_asked_without_a_model():
    nobody = asked(which=np.full(len(CLIENTS), NO_MODEL))
    with pytest.raises(FederationError, match="to which it sends no model"):
        play(checked("ask", nobody))


class EveryThird(Summing):
    def everyone(self, state, round_number):
        return round_number % 3 == 0


def test_an_algorithm_may_want_everybody_in_some_rounds():
    run = AlgorithmRun(EveryThird(), INITIAL, sampling=0.5)
    run.clients.joined = dict.fromkeys(range(10), 1)
    drawn = [len(run.draw(number, np.arange(10))[0]) for number in range(2, 7)]
    assert drawn == [5, 10, 5, 5, 10]


def test_states_are_read_only_after_a_resume_as_well():
    run = AlgorithmRun(Summing(), INITIAL)
    run.resume(Total(np.ones(4, dtype=np.float32)), {2: 1}, [], 1)
    assert not run.state.model.flags.writeable
