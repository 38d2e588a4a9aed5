"""Flower's FedAvg, by Flower's own loop, which prints when its rounds end."""

import time

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


class Timed(FedAvg):
    """FedAvg with a clock."""

    def aggregate_train(self, server_round, replies):
        """As it is."""
        result = super().aggregate_train(server_round, replies)
        print(f"round-ended {time.monotonic():.3f}", flush=True)
        return result


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Training only: no evaluation after a round."""
    strategy = Timed(fraction_evaluate=0.0, min_available_nodes=6, min_train_nodes=6)
    rounds = int(context.run_config["rounds"])
    strategy.start(grid, ArrayRecord([np.zeros(20)]), num_rounds=rounds)
