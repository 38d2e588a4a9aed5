"""The settings in which `tagma reproduce beyond` looks at `preset=tagma`, by their labels."""

from typing import Any

ALPHAS = (0, 0.1, 0.2, 0.3, 0.4)

Settings = dict[str, tuple[str, ...]]

CLUSTERS: Settings = {
    f"n = {n}, sigma = {sigma}, alpha = {alpha}": (
        f"task.samples={n}", f"task.noise={sigma}", f"attack.fraction={alpha}",
    )
    for n, sigma, alpha in (
        (200, 2, 0), (200, 2, 0.1), (200, 2, 0.3), (200, 2, 0.4), (120, 3, 0.3), (65, 3, 0.3),
    )
} | {
    "sizes .4 .25 .15 .1 .1, alpha = 0.2": (
        "task.sizes=[0.4,0.25,0.15,0.1,0.1]", "attack.fraction=0.2",
    ),
    "K = 10, m = 200, alpha = 0.2": (
        "task.clusters=10", "task.clients=200", "attack.fraction=0.2",
    ),
}  # fmt: skip
"""Where clusters should be perfect."""

NUMBERS: Settings = {
    f"K = {k}, alpha = 0.2": (f"task.clusters={k}", "attack.fraction=0.2") for k in (1, 2, 5, 8)
}
"""Where K should be found."""

ALL_ALPHAS = (*(f"n = 200, sigma = 2, alpha = {a}" for a in (0, 0.1, 0.3, 0.4)),
              "K = 5, alpha = 0.2")  # fmt: skip
"""Those of the above that are the same but for the share of Byzantine clients."""

FEW_DIMENSIONS: Settings = {
    f"d = {d}, n = {n}, alpha = {alpha}": (
        f"task.dim={d}", f"task.samples={n}", f"attack.fraction={alpha}",
    )
    for d, n in ((20, 80), (10, 100), (10, 40), (5, 200), (5, 20))
    for alpha in (0, 0.3)
}  # fmt: skip
"""Where clusters come close to each other, and nothing is promised."""

ERRORS: Settings = {f"error, alpha = {alpha}": (f"attack.fraction={alpha}",) for alpha in ALPHAS}
CORRELATED: Settings = {
    f"error, correlated inputs, alpha = {alpha}": (
        f"attack.fraction={alpha}", "task.covariance=ar1", "task.correlation=0.5",
        "optimiser.step=0.33",
    )
    for alpha in (0, 0.2, 0.3)
}  # fmt: skip
BOTH: Settings = {**ERRORS, **CORRELATED}
"""Where the error should be that of a federation without Byzantine clients."""

IMPOSTERS = {f"imposters, {share} of a cluster": share for share in (0.3, 0.6)}
INFILTRATE = "infiltrate, flipped gradients"
ATTACKS: Settings = {
    name: (f"attack={name}",)
    for name in (
        "alie", "bridge", "fake_cluster", "garbage", "gaussian_noise", "infiltrate", "inflate",
        "ipm", "label_flip", "lazy", "mimic", "min_max", "min_sum", "mixed",
        "poisoned_regression", "random_model", "sign_flip", "sleeper", "split", "stale", "starve",
        "trimmed_mean_attack", "shrink", "median_then_tilt", "tilt", "copycat", "halfway", "flood",
        "as_claimed",
    )
} | {INFILTRATE: ("attack=infiltrate", "attack.later=sign_flip")}  # fmt: skip
ORACLE = "without the Byzantine clients"

SEARCHED = {
    f"{attack}, alpha = {alpha}, searched": (("attack", attack), ("alpha", alpha))
    for attack in (
        "fake_cluster", "infiltrate", "split", "starve", "bridge", "imposters", "imposters+tilt",
        "halfway", "flood", "copycat", "tilt", "shrink", "median_then_tilt", "alie", "ipm",
        "trimmed_mean_attack", "mimic", "sleeper", "garbage", "inflate", "lazy", "min_max",
        "min_sum", "mixed", "sign_flip", "stale", "fang_krum", "rop", "poisonedfl", "as_claimed",
        "gaussian_noise", "label_flip", "poisoned_regression", "random_model",
    )
    for alpha in (0.2, 0.3, 0.4)
}  # fmt: skip
"""Attacks with the parameters that do most harm; those that have none are tried as they are."""

_DATA: dict[str, tuple[tuple[tuple[str, Any], ...], float]] = {
    "n_i 30 to 500, d = 20": ((("dim", 20), ("samples", (30, 500))), 1.15),
    "noise 1, 1, 2, 2, 4": ((("noises", (1, 1, 2, 2, 4)),), 1.1),
    "noise 1, 1, 1, 1, 3.5": ((("noises", (1, 1, 1, 1, 3.5)),), 1.15),
    "scales 1 to 100": ((("scales", (1, 100)),), 1.1),
    "t with 3 degrees": ((("tails", 3),), 1.05),
    "AR(1) with 0.9": ((("correlation", 0.9),), 1.05),
    "logistic, d = 20, n = 500": (
        (("logistic", True), ("dim", 20), ("samples", (500, 500))), 1.1,
    ),
    "K = 20, m = 400": ((("clusters", 20), ("clients", 400), ("rounds", 20)), 1.05),
}  # fmt: skip
_ALPHAS: dict[str, tuple[float, ...]] = {"K = 20, m = 400": (0.1, 0.3)}
_EDGE: dict[str, tuple[tuple[str, Any], ...]] = {
    "centres 4 deviations apart, d = 100": (("gap", 4), ("rounds", 20)),
    "centres 4 deviations apart, d = 20": (("gap", 4), ("dim", 20), ("rounds", 20)),
    "n = d = 100": (("samples", (100, 100)),),
    "n = 100, d = 1000, K = 2, noise 0.1": (
        ("samples", (100, 100)), ("dim", 1000), ("clusters", 2), ("noises", (0.1,)),
        ("rounds", 10),
    ),
}  # fmt: skip

ORDINARY: dict[str, tuple[tuple[str, Any], ...]] = {
    f"{label}, alpha = {alpha}": (*settings, ("alpha", alpha))
    for label, (settings, _) in _DATA.items()
    for alpha in _ALPHAS.get(label, (0, 0.3))
}
"""Data that are merely uneven, not round, or of many clusters."""
AT_MOST = {label: limit for label, (_, limit) in _DATA.items()}
"""Times the error without Byzantine clients that may be served there, whatever alpha."""
NEAR = {label: settings for label, settings in _EDGE.items() if "apart" in label}
"""Clusters that are hardly to be told apart."""
FEW_EXAMPLES = {label: settings for label, settings in _EDGE.items() if "apart" not in label}
"""No more examples than coefficients."""
BENIGN = "60 varied federations"

CONSTANTS = {f"constants of stage II, {label}": label for label in (CLUSTERS | NUMBERS)}
LIMITS = "constants of stage III"
DOUBTING = "constants of what is said"
