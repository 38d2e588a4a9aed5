"""Who plays which client: nobody loses a number while it is there."""

import numpy as np

from tagma.strategies.client_identity import Clients
from tagma.strategies.replies import Rejection, Reply

EVERYONE = {12, 15, 17, 19}


def reply(node, client):
    return Reply(node, np.zeros(1), client)


def known():
    """Nodes 12, 15, 17 and 19 play clients 2, 5, 7 and 9."""
    clients = Clients()
    clients.begin([reply(10 + number, number) for number in (2, 5, 7, 9)])
    return clients


def recognised(client, reply):
    return True


def test_the_seat_of_a_node_that_is_there_is_not_given_away():
    clients = known()
    assert clients.place(reply(99, 5), 3, EVERYONE | {99}, recognised) == (10, False)
    assert clients.of_node[15] == 5
    assert clients.joined[10] == 3


def test_the_seat_of_a_node_that_is_gone_goes_to_who_is_recognised():
    clients = known()
    assert clients.place(reply(99, 5), 3, {12, 17, 19, 99}, recognised) == (5, True)
    assert clients.of_node[99] == 5
    assert clients.node_of[5] == 99
    assert clients.joined[5] == 1
    assert clients.strangers({15}) == [15]  # it may come back, as somebody new


def test_a_number_is_worth_nothing_to_who_is_not_recognised():
    clients = known()
    assert clients.place(reply(99, 5), 3, {99}, lambda client, reply: False) == (10, False)


def test_a_number_that_two_claim_is_nobodys():
    clients = Clients()
    clients.begin([reply(11, 3), reply(12, 3), reply(13, 8)])
    assert clients.of_node == {13: 8, 11: 9, 12: 10}


def test_clients_that_claim_no_number_come_after_the_others():
    clients = Clients()
    clients.begin([reply(11, None), reply(12, None), reply(13, 0)])
    assert clients.of_node == {13: 0, 11: 1, 12: 2}
    assert clients.numbers.tolist() == [0, 1, 2]


def test_who_is_away_is_asked_again_and_who_sends_rubbish_is_not():
    clients = Clients()
    clients.refuse([Rejection(11, "no reply"), Rejection(12, "wrong shape")])
    assert clients.strangers({11, 12, 13}) == [11, 13]
    clients.refuse([Rejection(11, "no reply"), Rejection(11, "no reply")])
    assert clients.strangers({11, 12, 13}) == [13]


def test_claims_are_seen_before_anybody_is_numbered_and_change_nothing():
    clients = known()
    found = clients.claimed([reply(99, 4), reply(98, 6), reply(97, 6), reply(96, 5)])
    assert found == {12: 2, 15: 5, 17: 7, 19: 9, 99: 4}
    assert 99 not in clients.of_node
