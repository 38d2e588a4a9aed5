"""Replies of somebody else's ClientApp, in the shape that our one check of replies expects.

By Flower's convention a reply to `train` holds one ArrayRecord and one MetricRecord, one to
`evaluate` a MetricRecord, under any names, and the metrics say by `num-examples`, or another key,
how much the client weighs. What a metric is called is the app's affair: none of ours is read.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from flwr.app import Message, MetricRecord, RecordDict

from tagma.escaping import is_plain_name, one_line
from tagma.layout import Layout
from tagma.message_limits import Intake, Limits
from tagma.strategies.replies import Rejection, Reply, check_replies, is_finite, usable_metrics
from tagma.wire import ARRAYS, EXAMPLES, METRICS

_log = logging.getLogger("tagma")
_MOST = 2.0**53
"""A client that says it weighs more is not believed."""
_ALONE = -1
"""In place of a length, for a number that is not in a list."""
Kinds = tuple[tuple[str, int, bool], ...]
"""The names of a node's metrics, how many numbers each is of, and whether all are finite."""
MetricsFunction = Callable[[list[RecordDict], str], MetricRecord]
"""Flower's kind of function that makes one record of those of all clients."""


class ForeignReplies:
    """The usable replies of one exchange, what they hold beside the model, and the others."""

    def __init__(
        self,
        sent: Sequence[Message],
        replies: Iterable[Message],
        *,
        layout: Layout | None,
        weighted_by: str,
        limits: Limits,
    ) -> None:
        self._weighted_by, intake = weighted_by, Intake(limits)
        asked = {m.metadata.message_id: m.metadata.dst_node_id for m in sent}
        came = [intake.take(message) for message in replies]
        self.contents: dict[int, RecordDict] = {}
        """What a node that was asked sent, as it sent it; of its first reply."""
        for message in came:
            node = asked.get(str(message.metadata.reply_to_message_id))
            if message.has_content() and message.metadata.src_node_id == node:
                self.contents.setdefault(node, message.content)
        self.usable: list[Reply]
        self.rejections: list[Rejection]
        self.usable, self.rejections = check_replies(
            asked,
            (_as_ours(message, weighted_by) for message in came),
            layout=layout,
            expects={},
        )

    def weight_of(self, node: int) -> float:
        """How much a node says it weighs."""
        (record,) = self.contents[node].metric_records.values()
        weight = record[self._weighted_by]
        assert isinstance(weight, int | float)
        return float(weight)

    def metrics_of(self, node: int) -> dict[str, float]:
        """The finite numbers that a node reports."""
        records = list(self.contents[node].metric_records.values())
        return usable_metrics(records[0]) if records else {}

    def summary(self, nodes: Iterable[int], function: MetricsFunction, key: str) -> MetricRecord:
        """What a user's function makes of these nodes' metrics.

        Nodes that name other metrics than most, or of another kind, are left out, as are those with
        numbers that are not finite where most have none: the function may count on all being alike.
        So are those with names that no log could show. A function that fails nevertheless costs the
        metrics, not the run.
        """
        kinds = {node: _kinds(self.contents[node]) for node in nodes}
        plain = {n: k for n, k in kinds.items() if all(is_plain_name(name) for name, *_ in k)}
        alike = [self.contents[node] for node, kind in plain.items() if kind == _commonest(plain)]
        try:
            return function(alike, key) if alike else MetricRecord()
        except Exception as problem:  # of the user's own code
            _log.warning("the metrics of this round cannot be summed up: %s", one_line(problem))
            return MetricRecord()


def median_metrics(contents: list[RecordDict], weighted_by: str) -> MetricRecord:
    """The median of every metric over the clients, none of which can move it far.

    Flower's default is the mean, weighted by what each client says it weighs: any single one can
    make that whatever it likes.
    """
    records = [next(iter(content.metric_records.values())) for content in contents]
    found = MetricRecord()
    for name, first in records[0].items():
        if name != weighted_by:
            middle = np.median([np.asarray(record[name]) for record in records], axis=0)
            found[name] = middle.tolist() if isinstance(first, list) else float(middle)
    return found


def _as_ours(message: Message, weighted_by: str) -> Message:
    if not message.has_content():
        return message
    content = message.content
    arrays, metrics = list(content.array_records.values()), list(content.metric_records.values())
    if len(metrics) != 1 or len(arrays) > 1:
        return message  # which the check refuses
    weight = metrics[0].get(weighted_by)
    told = MetricRecord({EXAMPLES: 0}) if _is_weight(weight) else MetricRecord()
    message.content = RecordDict({METRICS: told})
    for record in arrays:
        message.content[ARRAYS] = record
    return message


def _is_weight(value: object) -> bool:
    # NaN makes the comparison false.
    return isinstance(value, int | float) and 0 <= value <= _MOST


def _kinds(content: RecordDict) -> Kinds:
    (record,) = content.metric_records.values()
    return tuple(sorted((name, *_kind(value)) for name, value in record.items()))


def _kind(value: object) -> tuple[int, bool]:
    numbers = value if isinstance(value, list) else [value]
    return len(numbers) if isinstance(value, list) else _ALONE, all(map(is_finite, numbers))


def _commonest(kinds: Mapping[int, Kinds]) -> Kinds:
    values = list(kinds.values())
    return max(values, key=lambda kind: (values.count(kind), kind))
