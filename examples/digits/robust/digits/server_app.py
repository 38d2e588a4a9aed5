"""The ServerApp: rounds of training, and what the model has learnt in the end."""

from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from tagma import Robust

from digits.task import load_test, new_model
from digits.task import test as test_model

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train a model, and test it on images that no client has."""
    strategy = Robust(fraction_evaluate=0.5)
    model = new_model()
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(model.state_dict()),
        num_rounds=context.run_config["num-server-rounds"],
    )
    model.load_state_dict(result.arrays.to_torch_state_dict())
    print(f"accuracy: {test_model(model, load_test())[1]:.3f}", flush=True)
