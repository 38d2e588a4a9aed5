"""The ServerApp: three strategies, each without and with the attack."""

from flwr.app import ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from tagma import Clustered, Robust

from digits.task import load_test, new_model
from digits.task import test as test_model

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Compare the strategies on images that no client has."""
    found = {}
    for strategy in (FedAvg, Robust, Clustered):
        found[strategy.__name__] = [
            accuracy_of(strategy(fraction_evaluate=0.0), grid, context, attacked)
            for attacked in (False, True)
        ]
    print(f"{'accuracy':12}{'no attack':>12}{'under attack':>14}")
    for name, (calm, attacked) in found.items():
        print(f"{name:12}{calm:12.3f}{attacked:14.3f}", flush=True)


def accuracy_of(strategy: FedAvg, grid: Grid, context: Context, attacked: bool) -> float:
    """What a model has learnt after all rounds."""
    model = new_model()
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(model.state_dict()),
        num_rounds=context.run_config["num-server-rounds"],
        train_config=ConfigRecord({"attacked": attacked}),
    )
    model.load_state_dict(result.arrays.to_torch_state_dict())
    return test_model(model, load_test())[1]
