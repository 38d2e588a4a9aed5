"""Who came late, was away or came back, and what it meant: the part of the summary for people."""

from collections.abc import Iterable
from typing import Any

from tagma.server.results.recorder import Recorder
from tagma.strategies.replies import ABSENCES

_NAMED = 10


def some_of(names: Iterable[object]) -> str:
    """The first ten names, and that there are more."""
    every = [str(name) for name in names]
    return ", ".join(every[:_NAMED]) + (", ..." if len(every) > _NAMED else "")


def participation_of(recorder: Recorder, quarantined: list[int]) -> dict[str, Any]:
    """Everything that was not simply everybody taking part in every round."""
    assert recorder.last is not None
    away = {
        str(client): count
        for client, reasons in sorted(
            recorder.rejected.items(), key=lambda item: (item[0] is None, item[0] or 0)
        )
        if client is not None
        and (count := sum(n for reason, n in reasons.items() if reason in ABSENCES))
    }
    expected = set() if recorder.byzantine is None else set(range(len(recorder.byzantine)))
    return {
        "took_no_part": sorted(expected - set(recorder.last.clients.tolist())),
        "joined_late": {str(client): number for client, number in sorted(recorder.joined.items())},
        "quarantined": quarantined,
        "rounds_missed": away,
        "returned": {str(client): rounds for client, rounds in sorted(recorder.returned.items())},
        "kept_model": {str(cluster): rounds for cluster, rounds in sorted(recorder.kept.items())},
        "tried_again": {str(e.round): e.repeats for e in recorder.events if e.repeats},
        "exchanges": {
            "asked": recorder.traffic.asked,
            "introduced": recorder.traffic.introduced,
            "unused": recorder.traffic.unused,
        },
        "resumed_before_round": recorder.resumed,
    }


def notices_of(participation: dict[str, Any]) -> list[str]:
    """The same in words, one line each."""
    found = []
    missing = participation["took_no_part"]
    if missing:
        many = f"{len(missing)} client{'s' if len(missing) > 1 else ''}"
        found.append(f"{many} ({some_of(missing)}) took no part: nothing usable came")
    joined: dict[tuple[int, bool], list[str]] = {}
    for client, number in participation["joined_late"].items():
        joined.setdefault((number, int(client) in participation["quarantined"]), []).append(client)
    for (number, waits), clients in joined.items():
        place = "in quarantine: no cluster's ball holds" if waits else "a cluster"
        if len(clients) == 1:
            where = f"is {place} it" if waits else f"has {place}"
            found.append(f"client {clients[0]} joined in round {number} and {where}")
        else:
            where = f"are {place} them" if waits else f"have {place}"
            who = f"{len(clients)} clients ({some_of(clients)})"
            found.append(f"{who} joined in round {number} and {where}")
    away: dict[int, list[str]] = {}
    for client, count in participation["rounds_missed"].items():
        away.setdefault(count, []).append(client)
    for count, clients in sorted(away.items()):
        who = (
            f"client {clients[0]} was"
            if len(clients) == 1
            else (f"{len(clients)} clients ({some_of(clients)}) were")
        )
        found.append(f"{who} away in {count} round{'s' if count > 1 else ''}")
    kept = participation["kept_model"]
    if len(kept) > _NAMED:
        many = f"{len(kept)} clusters ({some_of(kept)})"
        found.append(f"{many} kept their model in some rounds: too few replies")
        kept = {}
    for cluster, rounds in kept.items():
        when = f"round{'s' if len(rounds) > 1 else ''} {some_of(rounds)}"
        found.append(f"cluster {cluster} kept its model in {when}: too few replies")
    if again := participation["tried_again"]:
        when = f"round{'s' if len(again) > 1 else ''} {some_of(again)}"
        found.append(f"too few clients answered in {when} at first: tried again")
    for number in participation["resumed_before_round"]:
        found.append(f"the run was resumed from its checkpoint before round {number}")
    return found
