"""A run that is under way, as its folder tells of it: events.jsonl and history.csv, line by line.

The folder may be somebody else's: files are plain ones or none, a line that is not what it should
be says nothing, and of clients and events no more are kept than a page can show. Nothing is written
and nothing locked.
"""

import csv
import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagma.escaping import one_line
from tagma.report.cluster_matching import match_clusters, misplaced
from tagma.report.file_tail import MALFORMED, Tail
from tagma.report.run_data import (
    ClientRow,
    Cluster,
    Curve,
    HowClustered,
    Point,
    ReplyCounts,
    Run,
    RunScore,
)
from tagma.server.results.participation import some_of
from tagma.server.results.run_folder import EVENTS, HISTORY
from tagma.server.results.scores import ERRORS
from tagma.strategies.replies import ABSENCES

MOST_CLIENTS, MOST_ROUNDS, MOST_LOG = 20_000, 100_000, 400
_MOST_PAIRS = 2**20
"""True and found clusters, multiplied, that are matched with each other."""
OF_CLIENTS = ("rejected", "joined", "returned")
CONTRADICTS = "its replies contradict its first model"
OUTSIDE = "its local model lies outside the ball of its cluster"


@dataclass
class LiveClient:
    """What is known of one client."""

    model: int | None = None
    trimmed: bool = False
    quarantined: bool = False
    excluded: bool = False
    strikes: int = 0
    left_out: bool = False
    last: int = 0
    """The round of its last usable reply; 0: it keeps up."""
    here: bool = False
    """Whether it ever came."""
    node: str = ""
    missing: str = ""
    """Why there was no usable reply last; empty: there was."""
    since: int = 0
    """The first round without one."""
    place: Point | None = None
    measured: dict[str, float] = field(default_factory=dict)

    @property
    def absent(self) -> bool:
        """Whether it is away, as far as the server can tell."""
        return self.missing in ABSENCES

    @property
    def why(self) -> str:
        """Why it does not count, or may soon not, in words."""
        if self.missing:
            return f"{self.missing} since round {self.since}"
        if self.excluded:
            return CONTRADICTS
        if self.quarantined:
            return OUTSIDE
        if self.strikes:
            return "a reply contradicted its first model"
        return "its last reply was left out" if self.left_out else ""


@dataclass(frozen=True)
class Entry:
    """One line of the log for people: `tone` is bad, good or plain."""

    round: int
    words: str
    tone: str = "plain"


class LiveRun:
    """All of a run so far; `read` takes in what is new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._begin_anew()
        self._events, self._history = Tail(folder / EVENTS), Tail(folder / HISTORY)

    def _begin_anew(self) -> None:
        self.about: dict[str, Any] = {}
        self.clients: dict[int, LiveClient] = {}
        self.log: deque[Entry] = deque(maxlen=MOST_LOG)
        self.round = 0
        self.work = ""
        self.models = 0
        self.waiting: tuple[int, int] | None = None
        self.broken = ""
        self.contradiction = ""
        self.centres: tuple[Point, ...] = ()
        self.radii: list[float | None] = []
        self.stopped: str | None = None
        self.rejected: Counter[str] = Counter()
        self._new_history()

    def _new_history(self) -> None:
        self._columns: list[str] = []
        self.curves: dict[str, list[float]] = {}
        self.seconds: list[float] = []
        self.used = 0
        self._ends: deque[tuple[int, float]] = deque(maxlen=10)

    def read(self) -> bool:
        """Take in what was added; whether anything was."""
        anew, lines = self._events.lines()
        if anew:
            self._begin_anew()
        some = anew
        for line in lines:
            some = True
            try:
                self._take(json.loads(line))
            except (*MALFORMED, RecursionError):
                continue
        anew, lines = self._history.lines()
        if anew:
            self._new_history()
        for line in lines:
            some = True
            try:
                self._row(next(csv.reader([line.decode().rstrip("\r")]), []))
            except (*MALFORMED, csv.Error):
                continue
        return some

    @property
    def begun(self) -> bool:
        """Whether a run was begun here."""
        return bool(self.about)

    @property
    def rounds(self) -> int:
        """How many there will be, that of the local models among them."""
        return int(self.about.get("rounds", 0))

    @property
    def done(self) -> int:
        """How many are over."""
        return max(self.round, len(self.seconds))

    def _row(self, cells: Sequence[str]) -> None:
        if not self._columns:
            self._columns = [name[:200] for name in cells][:200]
        elif len(cells) == len(self._columns) and len(self.seconds) < MOST_ROUNDS:
            row = dict(zip(self._columns, cells, strict=True))
            self.seconds.append(max(0.0, _number(row["seconds"])))
            self.used += _whole(int(row["used"]))
            for name in self._columns[2:]:
                self.curves.setdefault(name, []).append(_number(row[name]))

    def _take(self, line: Mapping[str, Any]) -> None:
        event = line["event"]
        if event == "begin":
            self._begin(line)
        elif event == "waiting":
            self.waiting = _whole(line["present"]), _whole(line["expected"])
        elif event == "round":
            self._round(line)
        elif event == "broke":
            self.broken = one_line(line["why"])
            self._say(self.round, f"the run broke off: {self.broken}", "bad")

    def _begin(self, line: Mapping[str, Any]) -> None:
        resumed, clients = _whole(line["resumed"]), _whole(line["clients"])
        self.about = {
            "rounds": _whole(line["rounds"]),
            "engine": one_line(line["engine"], 40),
            "seed": _whole(line["seed"]),
            "settings": _settings(line["settings"]),
            "labels": None if line["labels"] is None else [int(one) for one in line["labels"]],
            "byzantine": None if line["byzantine"] is None else {*map(_whole, line["byzantine"])},
            "scores": [_score(one) for one in line["scores"][:20]],
        }
        for number in range(min(clients, MOST_CLIENTS)):
            self.clients.setdefault(number, LiveClient())
        self.broken, self.waiting = "", None
        self._ends.clear()
        if clients > MOST_CLIENTS:
            self._say(resumed + 1, f"the first {MOST_CLIENTS:,} of {clients:,} clients are shown")
        if resumed:
            self._say(
                resumed + 1, f"the run goes on from its checkpoint, before round {resumed + 1}"
            )

    def _round(self, line: Mapping[str, Any]) -> None:
        number = _whole(line["round"])
        first = not any(one.here for one in self.clients.values())
        self.round, self.work = number, one_line(line["work"], 40)
        self.models = _whole(line["models"])
        if math.isfinite(at := float(line["at"])):
            self._ends.append((number, at))
        rows = [[int(cell) for cell in row[:8]] for row in _shown(line.get("clients", ()))]
        happened = [
            entry for entry in line.get("happened", ())
            if isinstance(entry, list) and (entry[1] not in OF_CLIENTS or _is_shown(entry[2]))
        ]  # fmt: skip
        joined = {_whole(entry[2]) for entry in happened if entry[1] == "joined"}
        changes: dict[tuple[str, str], list[int]] = {}
        for row in rows:
            for change in self._change(row, number, first):
                changes.setdefault(change, []).append(row[0])
        if first and rows:
            self._say_first(number)
        self._absences(number, happened)
        for entry in happened:
            self._happened(entry)
        for client, node in _shown(line.get("nodes", ())):
            self._client(client).node = one_line(node, 24)
        for client in sorted(joined):
            self._say_joined(number, client)
        for (words, tone), clients in changes.items():
            if left := [one for one in clients if one not in joined]:
                self._say(number, f"{_who(left)}{words}", tone)
        if line.get("contradiction") and not self.contradiction:
            self.contradiction = one_line(line["contradiction"])
            self._say(number, f"do not trust this run: {self.contradiction}", "bad")
        for name, values in dict(line.get("measured", {})).items():
            for client, value in _shown(values):
                if math.isfinite(number_ := float(value)):
                    self._client(client).measured[one_line(name, 60)] = number_
        if "picture" in line:
            self._picture(line["picture"])

    def _client(self, number: Any) -> LiveClient:
        number = _whole(number)
        if number >= MOST_CLIENTS:
            raise ValueError("more clients than can be shown")
        return self.clients.setdefault(number, LiveClient())

    def _change(self, row: list[int], number: int, first: bool) -> Iterator[tuple[str, str]]:
        """Take over a row; what has changed for the client, in words."""
        client, model, trimmed, quarantined, excluded, strikes, left_out, last = row
        one = self._client(client)
        before = one.excluded, one.quarantined, one.strikes, one.model
        one.here, one.model = True, model if 0 <= model < MOST_CLIENTS else None
        one.trimmed, one.quarantined = bool(trimmed), bool(quarantined)
        one.excluded, one.strikes, one.left_out = bool(excluded), _whole(strikes), bool(left_out)
        one.last = _whole(last)
        if first:
            return
        if one.excluded != before[0]:
            again = ": takes part again, its replies agree with its first model", "good"
            yield (f" excluded: {CONTRADICTS}", "bad") if one.excluded else again
        elif one.strikes > before[2] and not one.excluded:
            yield f": a reply contradicts its first model (strike {one.strikes})", "bad"
        if one.quarantined != before[1]:
            yield (f" in quarantine: {OUTSIDE}", "bad") if one.quarantined else (
                " let go from quarantine", "good",
            )  # fmt: skip
        if one.model != before[3] and one.model is not None and before[3] is not None:
            yield f" moved to cluster {one.model}", "plain"

    def _absences(self, number: int, happened: Sequence[list[Any]]) -> None:
        """Who did not answer, who was refused, and who answers again.

        Who answered in the line's own round is there, whatever was missing when it was first tried.
        """
        silent: dict[tuple[int, str], list[int]] = {}
        for when, kind, *rest in happened:
            if kind != "rejected":
                continue
            when, reason = _whole(when), one_line(rest[1], 100)
            self.rejected[reason if len(self.rejected) < 100 else "others"] += 1
            if rest[0] is None:
                continue
            client = self._client(rest[0])
            keeps_up = client.here and not client.last
            if client.missing != reason and not (keeps_up and when == number):
                if not client.missing:
                    client.since = when
                    silent.setdefault((when, reason), []).append(rest[0])
                client.missing = reason
        for (when, reason), clients in silent.items():
            words = "no answer" if reason in ABSENCES else "a reply that cannot be used"
            self._say(when, f"{_who(clients)}: {words} ({reason})", "bad")
        back = [n for n, one in self.clients.items() if one.missing and one.here and not one.last]
        for name in back:
            self.clients[name].missing = ""
        if back:
            self._say(number, f"{_who(back)}: answering again", "good")

    def _happened(self, entry: Sequence[Any]) -> None:
        when, kind, what = _whole(entry[0]), entry[1], entry[2]
        if kind == "kept":
            model = _whole(what)
            self._say(when, f"cluster {model} kept its model: too few replies", "bad")
        elif kind == "returned":
            self._say(when, f"client {_whole(what)} came back under another node id", "good")
        elif kind == "repeated":
            self._say(when, "too few clients answered at first: the round was tried again", "bad")

    def _say_first(self, number: int) -> None:
        """What the first round brought."""
        placed = [one.model for one in self.clients.values() if one.model is not None]
        sizes = [str(size) for _, size in sorted(Counter(placed).items())]
        here = sum(one.here for one in self.clients.values())
        groups = f"; clusters of {', '.join(sizes[:12])} clients" if self.clustered else ""
        self._say(number, f"{here} clients answered{groups}")
        held = [name for name, one in self.clients.items() if one.quarantined]
        if held:
            self._say(number, f"{_who(held)} in quarantine: {OUTSIDE}", "bad")

    def _say_joined(self, number: int, client: int) -> None:
        one = self._client(client)
        place = "has no cluster yet" if one.model is None else f"has cluster {one.model}"
        if one.quarantined:
            place = f"is in quarantine: {OUTSIDE}"
        self._say(number, f"client {client} joined and {place}", "good")

    def _say(self, number: int, words: str, tone: str = "plain") -> None:
        self.log.append(Entry(number, words, tone))

    def _picture(self, picture: Mapping[str, Any]) -> None:
        for client, *place in _shown(picture["places"]):
            self._client(client).place = _point(place)
        centres = picture.get("centres", ())[:1000]
        points = [_point(one) for one in centres]
        self.centres = tuple((math.nan, math.nan) if one is None else one for one in points)
        self.radii = [None if r is None else float(r) for r in picture.get("radii", ())[:1000]]
        self.stopped = one_line(picture["stopped"]) if picture.get("stopped") else None

    @property
    def clustered(self) -> bool:
        """Whether the algorithm looks for clusters of its own."""
        return self.about.get("settings", {}).get("clustering") is not None

    def left(self) -> float | None:
        """Seconds for the rounds that are left, as the last ones went; None: not known yet."""
        if len(self._ends) < 2 or self._ends[0][0] >= self._ends[-1][0]:
            return None
        (first, began), (last, now) = self._ends[0], self._ends[-1]
        return (now - began) / (last - first) * max(0, self.rounds - last)

    def run(self) -> Run:
        """The same as the report's figures want it."""
        labels, liars = self.about.get("labels"), self.about.get("byzantine")
        rows = tuple(
            ClientRow(
                name=str(number),
                assigned=one.model,
                true=_label(labels, number),
                byzantine=None if liars is None else number in liars,
                trimmed=one.trimmed,
                quarantined=one.quarantined,
                excluded=one.excluded,
                place=one.place,
                measured=one.measured,
            )
            for number, one in sorted(self.clients.items())
            if one.here
        )
        honest = [row for row in rows if row.true is not None and not row.byzantine]
        found = min(self.models, MOST_CLIENTS)
        known = self.clustered and 0 < len({row.true for row in honest}) * found <= _MOST_PAIRS
        matched = match_clusters(rows, found) if known else {}
        wrong = sum(row.assigned is None or misplaced(row, matched) for row in honest if known)
        return Run(
            folder=self.folder,
            misclustering=wrong / len(honest) if known else None,
            misclustering_curve=None,
            scores=tuple(filter(None, map(self._score, self.about.get("scores", ())))),
            oracle_without_byzantine=False,
            clusters=self._clusters(rows),
            loss_curves=(),
            clustering=HowClustered(None, self.stopped, None) if self.clustered else None,
            replies=ReplyCounts(self.used, 0, dict(self.rejected), {}),
            seconds={},
            facts={name: str(self.about[name]) for name in ("seed", "engine") if self.about},
            bytes={},
            warnings=(),
            clients=rows,
            centres=self.centres,
            rounds=(),
            choices=self.about.get("settings", {}),
            environment={},
            overrides=None,
            config=None,
        )

    def _score(self, score: Mapping[str, Any]) -> RunScore | None:
        name = score["name"]
        curve: Curve = tuple(self.curves.get(name, ()))
        if score["of"] is not None or not curve:
            return None
        if name in ERRORS:
            curve = tuple(math.inf if math.isnan(value) else value for value in curve)
        worst, best = (
            self.curves.get(f"{name}_{part}") for part in ("worst_decile", "best_decile")
        )
        if all(math.isnan(value) for value in curve):
            return None
        last = next((value for value in reversed(curve) if not math.isnan(value)), None)
        return RunScore(
            name=name, title=score["title"], better=score["better"], value=last, curve=curve,
            worst_curve=tuple(worst) if worst else None, best_curve=tuple(best) if best else None,
        )  # fmt: skip

    def _clusters(self, rows: Sequence[ClientRow]) -> tuple[Cluster, ...]:
        own: list[list[ClientRow]] = [[] for _ in range(min(self.models, MOST_CLIENTS))]
        for row in rows:
            if row.assigned is not None and row.assigned < len(own):
                own[row.assigned].append(row)
        radii = [*self.radii, *[None] * len(own)]
        known = self.about.get("byzantine") is not None
        return tuple(
            Cluster(
                size=len(group),
                honest=sum(not one.byzantine for one in group) if known else None,
                byzantine=sum(bool(one.byzantine) for one in group) if known else None,
                trimmed=sum(one.trimmed for one in group),
                radius=radius,
                client_loss=None,
                excluded=sum(one.excluded for one in group),
            )
            for group, radius in zip(own, radii, strict=False)
        )


def _who(clients: Sequence[int]) -> str:
    if len(clients) == 1:
        return f"client {clients[0]}"
    return f"{len(clients)} clients ({some_of(sorted(clients))})"


def _shown(entries: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Those that begin with a client that the page has a place for."""
    return [one for one in entries if _is_shown(one[0])]


def _is_shown(client: Any) -> bool:
    return client is None or _whole(client) < MOST_CLIENTS


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError(f"{value!r:.50} is no count")
    return int(value)


def _number(text: str) -> float:
    """A cell's number; NaN: not known, or none."""
    value = float(text) if text else math.nan
    return value if abs(value) < 1e150 else math.nan


def _point(values: Sequence[Any]) -> Point | None:
    x, y = (math.nan if one is None else float(one) for one in values)
    return (x, y) if abs(x) < 1e150 and abs(y) < 1e150 else None


def _label(labels: Sequence[int] | None, number: int) -> int | None:
    if labels is None or number >= len(labels) or not 0 <= labels[number] < 2**31:
        return None
    return labels[number]


def _score(score: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": one_line(score["name"], 60),
        "title": one_line(score["title"], 60),
        "better": "high" if score["better"] == "high" else "low",
        "of": None if score["of"] is None else one_line(score["of"], 60),
    }


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Names only, as texts."""
    found: dict[str, Any] = {
        one_line(name, 60): None if value is None else one_line(value, 200)
        for name, value in list(given.items())[:40]
        if isinstance(value, str | int | float | None) and not isinstance(value, bool)
    }
    screens = {one_line(name, 60): v for name, v in given.items() if isinstance(v, bool)}
    return found | screens | {"pre": [one_line(one, 60) for one in given.get("pre") or ()][:10]}
