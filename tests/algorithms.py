"""Every algorithm on a federation of eight clients, for what holds for all of them."""

TINY = ("task.clients=8", "task.clusters=2", "task.dim=3", "task.samples=20", "task.noise=0.5",
        "attack=none", "rounds=2")  # fmt: skip
TINY_DIGITS = ("task=rotated_digits", "task.clients=8", "task.clusters=2", "task.samples=20",
               "model=softmax", "training.epochs=1", "attack=none", "rounds=2")  # fmt: skip
"""The same of images, for attacks that have a target class."""
WITH_A_GOAL = ("badnets", "blended", "dba", "edge_case", "model_replacement", "neurotoxin",
               "targeted_flip")  # fmt: skip
ALGORITHMS = {
    "three_stage": (),
    "tagma": ("preset=tagma",),
    "fedavg": ("strategy=fedavg",),
    "fedprox": ("strategy=fedprox", "optimiser=local", "optimiser.step=0.1"),
    "ifca": ("strategy=ifca", "strategy.k=2", "optimiser.step=0.3"),
    "cfl": ("strategy=cfl", "optimiser.step=0.3"),
    "threshold": ("strategy=threshold", "strategy.quantile=0.5", "optimiser.step=0.3"),
    "local": ("strategy=local",),
    "oracle": ("strategy=oracle",),
}
