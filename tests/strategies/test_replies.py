import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from tagma.strategies.replies import check_replies
from tagma.wire import ABOUT, CLIENT, UPDATE, pack

TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


def instruction(node):
    message = Message(RecordDict(), node, "train.local_model")
    message.metadata.__dict__["_message_id"] = f"to-{node}"
    return message


def answer(node, vector=(1.0, 2.0), client=None):
    content = RecordDict({UPDATE: pack(np.array(vector))})
    if client is not None:
        content[ABOUT] = ConfigRecord({CLIENT: client})
    return Message(content, reply_to=instruction(node))


SENT = {"to-5": 5, "to-3": 3, "to-9": 9}


def check(*replies, first_round=False):
    return check_replies(SENT, replies, length=2, first_round=first_round)


def test_replies_come_in_the_order_of_nodes_whatever_order_they_arrive_in():
    usable, rejected = check(answer(9), answer(3), answer(5))
    assert [reply.node for reply in usable] == [3, 5, 9]
    assert rejected == []


def test_missing_repeated_and_unsolicited_replies_are_told_apart():
    usable, rejected = check(answer(9), answer(9, (7.0, 7.0)), answer(4))
    assert [reply.vector.tolist() for reply in usable] == [[1.0, 2.0]]
    assert sorted((r.node, r.reason) for r in rejected) == [
        (3, "no reply"), (4, "unsolicited"), (5, "no reply"), (9, "duplicate"),
    ]  # fmt: skip


def test_a_second_reply_cannot_make_up_for_a_bad_first_one():
    usable, rejected = check(answer(3, (np.nan, 0.0)), answer(3), answer(5), answer(9))
    assert [reply.node for reply in usable] == [5, 9]
    assert [(r.node, r.reason) for r in rejected] == [(3, "not finite"), (3, "duplicate")]


def test_the_client_number_is_read_in_the_first_round_only():
    usable, _ = check(answer(3, client=8), first_round=True)
    assert usable[0].client == 8
    _, rejected = check(answer(3, client=8), answer(5), answer(9))
    assert [r.reason for r in rejected] == ["unexpected records"]
