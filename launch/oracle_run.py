"""The error of the oracle, to compare a run with."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tagma.launch.engines import inprocess
from tagma.override import key_of
from tagma.server.results.run_folder import read_metrics
from tagma.settings import Settings, compose
from tagma.tasks.task_choice import task_of

_INSTEAD = [
    *("strategy=oracle", "engine=inprocess", "evaluate=false"),
    *("checkpoint_every=0", "resume=false"),
]


def oracle_errors(settings: Settings) -> dict[str, Any]:
    """What metrics.json says of the same federation with the true clusters given."""
    if not settings.oracle or task_of(settings).truth() is None:
        return {}
    own = settings.choice("strategy")
    kept = [
        text
        for text in settings.overrides
        if key_of(text).partition(".")[0] not in ("engine", "strategy")
    ]
    # Where Byzantine clients are kept out, the yardstick is a federation without them.
    without_byzantine = bool(own.get("quarantine") or own.get("reply_check"))
    instead = [
        *_INSTEAD,
        f"strategy.exclude_byzantine={without_byzantine}",
        f"strategy.spectral_filter={bool(own.get('spectral_filter'))}",
    ]
    with TemporaryDirectory() as scratch:
        inprocess.run(compose([*kept, *instead]), Path(scratch), observer=lambda event: None)
        metrics = read_metrics(Path(scratch))
    return {
        "oracle_without_byzantine": without_byzantine,
        # Without Byzantine clients nobody misleads it, whatever their unused replies look like.
        "oracle_suspect": not without_byzantine
        and any(cluster["suspect"] for cluster in metrics["clusters"]),
        "oracle_error": metrics["estimation_error"],
        "oracle_error_per_round": metrics["estimation_error_per_round"],
    }
