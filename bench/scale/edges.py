"""`tagma bench edges`: what is lost where the server does not hear of every client.

Groups of clients behind edge aggregators, of which the server sees the results alone; and a sample
of the clients, from which it learns the clusters. On arrays, one vector for each client.
"""

from functools import partial

import numpy as np
from rich.table import Table

from tagma.arrays import Array, Mask
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, notices
from tagma.rng import stream
from tagma.strategies.aggregation import Aggregator, geometric_median, mean, median, trimmed_mean
from tagma.strategies.clustering import density

_ABOUT = """What robust rules lose behind edge aggregators, and stage II by a sample of the clients.

Honest vectors are normal around their centre; Byzantine ones are all shifted the same way, and are
spread over the groups at random or sit together. Errors are distances of the estimate from the
centre, per coordinate, in units of the error of the mean of the honest; means over the seeds.
  tagma bench edges
  tagma bench edges --clients 10000 --seeds 3"""

_SIZES = (1, 10, 100)
_SHARES = (0.1, 0.2, 0.3)
_SHIFT = 3.0
_BETA = 0.35
_WHERE = ("spread", "together")
RULES: dict[str, Aggregator] = {
    "mean": mean,
    "trimmed mean": partial(trimmed_mean, beta=_BETA),
    "median": median,
    "geometric median": geometric_median,
}


def main(arguments: list[str]) -> None:
    """Measure both and print two tables."""
    line = CommandLine("bench edges", _ABOUT)
    shown = "(default: %(default)s)"
    for name, default in (("clients", 10_000), ("dim", 100), ("clusters", 20), ("seeds", 5)):
        line.add_argument(f"--{name}", type=at_least(1), default=default, help=f"how many {shown}")
    options = line.read(arguments)
    console.print(_of_groups(options.clients, options.dim, options.seeds))
    console.print(_of_samples(options.clients, options.dim, options.clusters))


def grouped(rows: Array, forged: Mask, size: int, together: bool, seed: int) -> list[Array]:
    """The rows in groups of a size; Byzantine clients are in as few as possible, or anywhere."""
    order = stream(seed, "edges").permutation(len(rows))
    if together:
        order = order[np.argsort(~forged[order], kind="stable")]
    return [rows[order[first : first + size]] for first in range(0, len(rows), size)]


def _of_groups(clients: int, dim: int, seeds: int) -> Table:
    table = Table(title=f"{clients:,} clients behind edges, {dim} entries", title_justify="left")
    for column in ("group", "edge / server", *(f"{s:.0%} {w}" for s in _SHARES for w in _WHERE)):
        table.add_column(column, justify="right")
    for size in _SIZES:
        for name, rule in RULES.items():
            edges = {"mean": mean, name: rule} if size > 1 else {"-": mean}
            for edge, local in edges.items():
                errors = []
                for share in _SHARES:
                    for where in _WHERE:
                        if size == 1 and where == "together":
                            errors.append("")
                            continue
                        each = [
                            _error(clients, dim, share, size, where == "together", local, rule, s)
                            for s in range(seeds)
                        ]
                        errors.append(f"{np.mean(each):.2f}")
                table.add_row(str(size), f"{edge} / {name}", *errors)
    return table


def _error(
    clients: int, dim: int, share: float, size: int, together: bool,
    edge: Aggregator, server: Aggregator, seed: int,
) -> float:  # fmt: skip
    """Of what the server makes of what the edges make of their clients."""
    random = stream(seed, "bench edges")
    rows = random.standard_normal((clients, dim))
    forged = random.random(clients) < share
    rows[forged] += _SHIFT
    groups = grouped(rows, forged, size, together, seed)
    seen = rows if size == 1 else np.array([edge(group).estimate for group in groups])
    usual = np.sqrt(dim / (~forged).sum())
    return float(np.linalg.norm(server(seen).estimate)) / usual


def _of_samples(clients: int, dim: int, clusters: int) -> Table:
    """Clusters of very unequal sizes, found among all, one in ten, one in a hundred."""
    random = stream(0, "bench edges samples")
    centres = random.standard_normal((clusters, dim))
    centres *= 10 / np.linalg.norm(centres, axis=1, keepdims=True)
    shares = 0.7 ** np.arange(clusters)
    groups = random.choice(clusters, clients, p=shares / shares.sum())
    rows = centres[groups] + random.standard_normal((clients, dim))
    forged = random.random(clients) < 0.2
    rows[forged] += 5 * random.standard_normal((int(forged.sum()), dim))
    sizes = np.bincount(groups[~forged], minlength=clusters)
    table = Table(
        title=f"{clients:,} clients in {clusters} clusters of {sizes.min()} to {sizes.max()}",
        title_justify="left",
    )
    for column in ("asked", "clusters found", "smallest found", "worst centre, x that of all"):
        table.add_column(column, justify="right")
    for part in (1, 10, 100):
        notices.print(f"one in {part} ...", highlight=False)
        asked = np.sort(random.choice(clients, clients // part, replace=False))
        found = density(rows[asked])
        apart = np.linalg.norm(centres[:, None] - found.centres, axis=2)
        there = apart.min(axis=1) < 5
        worst = max(
            (a * np.sqrt(s / dim) for a, s in zip(apart.min(axis=1), sizes, strict=True) if a < 5),
            default=float("nan"),
        )
        smallest = sizes[there].min() if there.any() else 0
        table.add_row(f"1 in {part}", f"{found.k} ({there.sum()} true)", str(smallest),
                      f"{worst:.1f}")  # fmt: skip
    return table
