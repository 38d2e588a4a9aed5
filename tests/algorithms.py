"""Every algorithm on a federation of eight clients, for what holds for all of them."""

TINY = ("task.clients=8", "task.clusters=2", "task.dim=3", "task.samples=20", "task.noise=0.5",
        "attack=none", "rounds=2")  # fmt: skip
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
