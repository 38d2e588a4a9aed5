"""The data, scikit-learn's digits, and the model that learns to read them."""

from functools import cache

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

torch.set_num_threads(1)  # more would only wait for each other on so small a model

TESTED = 360
"""Images that nobody trains on; the server measures the model with them."""


def new_model() -> nn.Module:
    """The network as it is before training, the same in every process."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10))


@cache
def images() -> tuple[Tensor, Tensor]:
    """All images, in a fixed random order, and the digits that they show."""
    digits = load_digits()
    order = torch.randperm(len(digits.data), generator=torch.Generator().manual_seed(0))
    pixels = torch.tensor(digits.data / 16, dtype=torch.float32)
    return pixels[order], torch.tensor(digits.target)[order]


def load_test() -> tuple[Tensor, Tensor]:
    """The server's images."""
    inputs, targets = images()
    return inputs[:TESTED], targets[:TESTED]


def load_partition(partition: int, partitions: int) -> tuple[Tensor, Tensor]:
    """One client's images."""
    inputs, targets = images()
    return inputs[TESTED + partition :: partitions], targets[TESTED + partition :: partitions]


def train(model: nn.Module, data: tuple[Tensor, Tensor], epochs: int, rate: float) -> float:
    """Train, and return the loss of the last batch."""
    model.train()
    inputs, targets = data
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).chunk(4):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[batch]), targets[batch])
            loss.backward()
            optimizer.step()
    return loss.item()


def test(model: nn.Module, data: tuple[Tensor, Tensor]) -> tuple[float, float]:
    """The loss, and the share of the images that are read rightly."""
    model.eval()
    inputs, targets = data
    with torch.no_grad():
        outputs = model(inputs)
    loss = nn.functional.cross_entropy(outputs, targets).item()
    return loss, (outputs.argmax(1) == targets).float().mean().item()
