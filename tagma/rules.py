"""Every aggregation rule and pre-aggregator as a function of models as you have them.

    from tagma.rules import nnm, trimmed_mean

    trimmed_mean(states, beta=0.2)                        # a list of state_dicts: a state_dict
    trimmed_mean(tensor, beta=0.2, weights=examples)      # models along the first axis: one of them
    trimmed_mean(nnm(arrays, fraction=0.2), beta=0.2)     # pre-aggregators give as many models

NumPy arrays, torch tensors and Flower's ArrayRecords, alone or in lists; what comes back is of the
same kind, precision and device. Models with an entry that is not finite take no part. Rules that
installed packages offer (docs/extending.md) are here as well.
"""

from importlib import import_module
from typing import Any

__all__ = [  # noqa: F822 (they are made when first asked for, so that nothing else is imported)
    "arc", "bucketing", "bulyan", "caf", "centered_clipping", "central_half", "cge", "clipping",
    "dnc", "flame", "fldetector", "fltrust", "foolsgold", "geometric_median", "iterative_filtering",
    "krum", "lasa", "mda", "meamed", "mean", "median", "monna", "multi_krum", "nnm",
    "norm_clipping", "rlr", "signguard", "smea", "trimmed_mean",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    functions = import_module("tagma.strategies.rule_functions")
    if name in __all__:
        return functions.FUNCTIONS[name]
    offer = None if name.startswith("_") else _offered().get(name)
    if offer is None:
        raise AttributeError(f"module 'tagma.rules' has no attribute {name!r}")
    return functions.on_models(offer.located())


def __dir__() -> list[str]:
    return [*globals(), *__all__, *_offered()]


def _offered() -> Any:
    return import_module("tagma.choices").offered("aggregation")
