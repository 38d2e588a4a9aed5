"""Who plays which client: nobody loses a number while it is there."""

from tagma.strategies.client_identity import ClientIdentity
from tagma.strategies.replies import Reply
from tests.strategies.test_late_joining import state


def known():
    """Nodes 12, 15, 17 and 19 play clients 2, 5, 7 and 9."""
    identity, after = ClientIdentity(), state()
    pairs = zip(after.clients.tolist(), after.local_models, strict=True)
    identity.first([Reply(10 + client, local_model, client) for client, local_model in pairs])
    return identity, after


def test_the_seat_of_a_node_that_is_there_is_not_given_away():
    identity, after = known()
    thief = Reply(99, after.local_models[1], 5)
    assert identity.take(thief, after, online={12, 15, 17, 19, 99}) == (10, False)
    assert identity.client_of[15] == 5


def test_the_seat_of_a_node_that_is_gone_goes_to_who_has_its_local_model():
    identity, after = known()
    assert identity.take(Reply(99, after.local_models[1], 5), after, online={12, 17, 19, 99}) == (
        5,
        True,
    )
    assert identity.client_of[99] == 5
    assert identity.unknown_nodes({15}) == [15]  # it may come back, as somebody new


def test_a_number_without_its_local_model_is_worth_nothing():
    identity, after = known()
    assert identity.take(Reply(99, after.local_models[0], 5), after, online={99}) == (10, False)
