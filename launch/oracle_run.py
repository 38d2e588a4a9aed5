"""What the oracle reaches, to compare a run with."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tagma.attacks.adversary import goal_of
from tagma.attacks.goal import SUCCESS
from tagma.launch.engines.this_process import run_here
from tagma.override import key_of
from tagma.server.results.run_folder import read_metrics
from tagma.server.results.score_choice import scores_of
from tagma.settings import Settings, compose
from tagma.tasks.task import true_clusters
from tagma.tasks.task_choice import task_of

WITHOUT = "without_attack"
_INSTEAD = ("strategy=oracle", "checkpoint_every=0", "resume=false", "pause=0")


def with_oracle(settings: Settings, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """What metrics.json says of a run, and of its oracle; with a goal, the success without it."""
    found = {**metrics, **oracle_errors(settings)}
    reached = (found["oracle_scores"] or {}).get(SUCCESS)
    if reached is not None and found[SUCCESS] is not None:
        found[SUCCESS] = found[SUCCESS] | {WITHOUT: reached["value"]}
    return found


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
    # Where Byzantine clients are kept out, the yardstick is a federation without them; and where
    # they have a goal, it tells how often models say what they want without their help.
    screens = bool(own.get("quarantine") or own.get("reply_check"))
    without_byzantine = screens or goal_of(settings) is not None
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
