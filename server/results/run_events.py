"""What happens in a run, for whoever watches it: `events.jsonl` in the run folder.

One JSON object a line, appended while the run goes on; nothing that is in history.csv stands there
again. The first line says what was begun and what is known of the truth. Those after it say what
has changed since the line before: clients (only those that have), where they are in the picture,
whose replies were missing or refused, what clients measured. Clients' texts are cut and on one line
(`tagma.escaping`).

To write costs at most half a percent of the time: rounds that follow each other faster than that
share a line. A file that has grown to `MOST` bytes grows no further.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from tagma.arrays import Array, Mask
from tagma.escaping import one_line
from tagma.foreign_file import plain_file
from tagma.server.results.client_metrics import ClientMetric
from tagma.server.results.named_settings import named_settings
from tagma.server.results.recorder import Recorder
from tagma.server.results.run_folder import EVENTS, ClientPlaces, places_of
from tagma.settings import Settings
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.round_outcome import Round

MOST = 2**26
"""Bytes of the file."""
COLUMNS = ("model", "trimmed", "quarantined", "excluded", "strikes", "left_out", "last")
"""What a line says of a client, after its number. `left_out`: its reply in that round was; `last`:
the round of its last usable reply, or 0 for that of the line."""
_SHARE = 200
"""A line is written at most once in so many times what the last one took."""
_LEAST, _PICTURE = 0.25, 2.0
"""Seconds between two lines, and between two pictures that are of replies."""
_NAMED = 1000
"""Replies that were refused, of a line."""
_OPEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def kept_lines(folder: Path, rounds: int) -> list[bytes]:
    """The lines about the first rounds that an interrupted run left, if they are whole."""
    kept: list[bytes] = []
    try:
        for line in plain_file(folder / EVENTS, MOST).read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n") or json.loads(line).get("round", 0) > rounds:
                break
            kept.append(line)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return []
    return kept


class RunEvents:
    """Writes the file; an observer of rounds."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        recorder: Recorder,
        run: AlgorithmRun[Any],
        *,
        engine: str,
        clients: int,
        before: list[bytes],
    ) -> None:
        self._recorder, self._run = recorder, run
        self._metrics = [
            one.metric for one in recorder.scores
            if isinstance(one, ClientMetric) and one.of is None
        ]  # fmt: skip
        self._table = np.empty((0, 1 + len(COLUMNS)), dtype=np.int64)
        self._last: dict[int, int] = {}  # a number may be any that a client claims
        self._nodes: dict[int, int] = {}
        self._drawn: tuple[Array, ClientPlaces | None] | None = None
        self._drawn_at = self._next = 0.0
        self._pending: list[list[Any]] = []
        self._more = self._written = 0
        self._file = os.fdopen(os.open(folder / EVENTS, _OPEN, 0o666), "wb", buffering=0)
        self._size = 0
        for line in before:
            self._put(line)
        truth, byzantine = recorder.truth, recorder.byzantine
        self._write(
            "begin",
            engine=engine, clients=clients, rounds=recorder.rounds, seed=settings.seed,
            settings=named_settings(settings), resumed=len(recorder.events),
            scores=[
                {"name": one.name, "title": one.title, "better": one.better, "of": one.of}
                for one in recorder.scores
            ],
            labels=None if truth is None else truth.labels.tolist(),
            byzantine=None if truth is None or byzantine is None else
            np.flatnonzero(byzantine).tolist(),
        )  # fmt: skip

    def waiting(self, present: int, expected: int) -> None:
        """So many clients are there before the first round."""
        self._write("waiting", present=present, expected=expected)

    def __call__(self, event: object) -> None:
        """Take down the round that the recorder saw last."""
        outcome = self._recorder.last
        assert outcome is not None
        self._note(outcome)
        now = time.monotonic()
        if now >= self._next or outcome.number == 1:
            self._write_round(outcome, now)
            after = time.monotonic()
            self._next = after + max(_LEAST, _SHARE * (after - now))

    def broke(self, problem: BaseException) -> None:
        """The run ends here, for now."""
        self._write("broke", why=one_line(problem) or type(problem).__name__)

    def close(self) -> None:
        """Write what is left, and let go of the file."""
        last = self._recorder.last
        if last is not None and last.number != self._written:
            self._write_round(last, time.monotonic())
        self._file.close()

    def picture(self, found: Clustered | None) -> ClientPlaces | None:
        """Where clients are; what was found out during the run is not computed again."""
        if found is not None and self._drawn is not None and self._drawn[0] is found.local_models:
            return self._drawn[1]
        return places_of(self._recorder, found)

    def _note(self, outcome: Round) -> None:
        number, pending = outcome.number, self._pending
        self._last |= dict.fromkeys(outcome.answered.tolist(), number)
        happened: list[list[Any]] = [
            [number, "rejected", client, reason] for client, reason in outcome.rejected
        ]
        happened += [[number, "joined", client] for client in outcome.joined]
        happened += [[number, "returned", client] for client in outcome.returned]
        happened += [[number, "kept", model] for model in outcome.kept]
        if outcome.repeats:
            happened.append([number, "repeated", outcome.repeats])
        room = max(0, _NAMED - len(pending))
        pending += happened[:room]
        self._more += len(happened[room:])

    def _write_round(self, outcome: Round, now: float) -> None:
        found = self._found(outcome.state)
        said: dict[str, Any] = {"round": outcome.number, "work": outcome.work}
        self._written = outcome.number
        if self._pending:
            said["happened"] = [
                [one_line(part) if isinstance(part, str) else part for part in entry]
                for entry in self._pending
            ]
        if self._more:
            said["more"] = self._more
        self._pending, self._more = [], 0
        if rows := self._changed(outcome, found):
            said["clients"] = rows
        if nodes := self._new_nodes(outcome):
            said["nodes"] = nodes
        if picture := self._new_picture(found, now):
            said["picture"] = picture
        if outcome.evaluations:
            said["measured"] = {
                name: [
                    [client, float(f"{values[name]:.4g}")]
                    for client, values in outcome.evaluations.items()
                    if name in values
                ]
                for name in self._metrics[:3]
            }
        said["models"] = len(outcome.models)
        if found is not None and found.contradiction:
            said["contradiction"] = found.contradiction
        self._write("round", **said)

    def _changed(self, outcome: Round, found: Clustered | None) -> list[list[int]]:
        """The rows of the clients of which something has changed."""
        clients = outcome.clients
        table = np.zeros((len(clients), 1 + len(COLUMNS)), dtype=np.int64)
        table[:, 0], table[:, 1] = clients, outcome.which
        if found is not None:
            rows = np.searchsorted(clients, found.clients)
            standing = found.standing
            table[rows, 2], table[rows, 3] = found.trimmed, standing.quarantined
            table[rows, 4], table[rows, 5] = standing.excluded, standing.strikes
        table[:, 6] = np.isin(clients, outcome.answered[_mask(outcome)])
        last = np.array([self._last.get(client, 0) for client in clients.tolist()], dtype=np.int64)
        table[:, 7] = np.where(last == outcome.number, 0, last)
        before, self._table = self._table, table
        if before.shape == table.shape and (before[:, 0] == table[:, 0]).all():
            table = table[(before != table).any(axis=1)]
        changed: list[list[int]] = table.tolist()
        return changed

    def _new_nodes(self, outcome: Round) -> list[list[Any]]:
        """The nodes of clients that are at another than before; texts, as they have 64 bits."""
        if outcome.number > 1 and not (outcome.joined or outcome.returned) and self._nodes:
            return []
        now = dict(self._run.clients.node_of)
        new = [
            [client, str(node)] for client, node in now.items() if self._nodes.get(client) != node
        ]
        self._nodes = now
        return new

    def _new_picture(self, found: Clustered | None, now: float) -> dict[str, Any] | None:
        if found is None:
            if self._drawn_at and now < self._drawn_at + _PICTURE:
                return None
            drawn = places_of(self._recorder, None)
        elif self._drawn is not None and self._drawn[0] is found.local_models:
            return None
        else:
            drawn = places_of(self._recorder, found)
            self._drawn = found.local_models, drawn
        self._drawn_at = now
        if drawn is None:
            return None
        said: dict[str, Any] = {
            "places": [[client, *_short(place)] for client, place in drawn.places.items()]
        }
        if found is not None:
            centres = (found.clustering.centres - drawn.origin) @ drawn.directions.T
            said["centres"] = [_short(centre) for centre in centres]
            said["radii"] = _short(found.clustering.radius)
            said["stopped"] = found.clustering.stopped
        return said

    def _found(self, state: Any) -> Clustered | None:
        found = self._run.algorithm.findings(state)
        return found if isinstance(found, Clustered) else None

    def _write(self, event: str, **said: Any) -> None:
        line = json.dumps({"event": event, "at": round(time.time(), 2), **said}, default=float)
        self._put(line.encode() + b"\n")

    def _put(self, line: bytes) -> None:
        if self._size + len(line) <= MOST:
            self._size += self._file.write(line)


def _mask(outcome: Round) -> Mask:
    """Who of those that answered was left out; of a round from which nothing was learnt, nobody."""
    return outcome.left_out if len(outcome.left_out) == len(outcome.answered) else np.zeros(0, bool)


def _short(values: Array) -> list[float | None]:
    """Numbers with as many digits as a picture shows."""
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in map(float, values)]
