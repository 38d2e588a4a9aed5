"""The messages of a request, under the names of `tagma.wire`: one for each node that is asked."""

from collections.abc import Mapping, Sequence

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict

from tagma.exchange import EVALUATE, NO_MODEL, OWN, Request
from tagma.wire import ARRAYS, CONFIG, ROUND, WORK


def messages_of(
    request: Request, nodes: Sequence[int], models: Sequence[ArrayRecord], round_number: int
) -> list[Message]:
    """One message per node, from the records of the models; those with the same share it."""
    settings = {name: float(value) for name, value in request.settings.items()}
    config = ConfigRecord({ROUND: round_number, WORK: request.work, **settings})
    if request.which is None:
        every = {f"{ARRAYS}.{k}": one for k, one in enumerate(models)}
        own = [NO_MODEL] * len(nodes) if request.own is None else request.own.tolist()
        content_of = {
            k: _content(config if k == NO_MODEL else ConfigRecord({**config, OWN: k}), every)
            for k in sorted(set(own))
        }
        contents = [content_of[k] for k in own]
    else:
        bare = _content(config, {})
        records = [_content(config, {ARRAYS: one}) for one in models]
        rows = request.which.tolist()
        contents = [bare if k == NO_MODEL else records[k] for k in rows]
    kind = "evaluate" if request.work == EVALUATE else "train"
    return [Message(c, node, kind) for c, node in zip(contents, nodes, strict=True)]


def _content(config: ConfigRecord, arrays: Mapping[str, ArrayRecord]) -> RecordDict:
    content = RecordDict()
    content[CONFIG] = config
    for name, record in arrays.items():
        content[name] = record
    return content
