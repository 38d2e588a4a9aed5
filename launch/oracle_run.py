"""What the oracle reaches, to compare a run with."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tagma.launch.engines.this_process import run_here
from tagma.override import key_of
from tagma.server.results.run_folder import read_metrics
from tagma.server.results.score_choice import scores_of
from tagma.settings import Settings, compose
from tagma.tasks.task import true_clusters
from tagma.tasks.task_choice import task_of

_INSTEAD = ("strategy=oracle", "checkpoint_every=0", "resume=false")


def oracle_errors(settings: Settings) -> dict[str, Any]:
    """What metrics.json says of the same federation with the true clusters given.

    Clients measure nothing where the first score does not need them. Without any score there is
    nothing to compare, and no oracle.
    """
    task = task_of(settings)
    if not settings.oracle or true_clusters(task) is None:
        return {}
    evaluate = settings.evaluate and not scores_of(task, evaluated=False)
    if not scores_of(task, evaluated=evaluate):
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
        f"evaluate={evaluate}",
        f"strategy.exclude_byzantine={without_byzantine}",
        f"strategy.spectral_filter={bool(own.get('spectral_filter'))}",
    ]
    with TemporaryDirectory() as scratch:
        run_here(compose([*kept, *instead]), Path(scratch))
        metrics = read_metrics(Path(scratch))
    return {
        "oracle_without_byzantine": without_byzantine,
        # Without Byzantine clients nobody misleads it, whatever their unused replies look like.
        "oracle_suspect": not without_byzantine
        and any(cluster["suspect"] for cluster in metrics["clusters"]),
        "oracle_scores": {
            name: {key: score[key] for key in ("value", "per_round")}
            for name, score in metrics["scores"].items()
            if any(value is not None for value in score["per_round"])
        },
        "oracle_error": metrics["estimation_error"],
        "oracle_error_per_round": metrics["estimation_error_per_round"],
    }
