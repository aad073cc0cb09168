"""The model, the data and the local training: plain torch, and the digits that terrafl ships."""

from functools import cache
from importlib.resources import files

import numpy as np
import torch
from flwr.app import Context
from torch import nn
from torch.nn.functional import cross_entropy

TEST_SHARE = 5  # every fifth digit is for testing


class Net(nn.Module):
    """A perceptron with one hidden layer."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def initial_model(seed):
    torch.manual_seed(seed)
    return Net()


@cache
def digits():
    table = np.loadtxt(files("terrafl.data.sets") / "digits.csv.gz", delimiter=",")
    x, y = table[:, :64], table[:, 64].astype(int)
    return torch.tensor(x / 16.0, dtype=torch.float32), torch.tensor(y)


def test_data():
    x, y = digits()
    return x[::TEST_SHARE], y[::TEST_SHARE]


@cache
def client_data(partition, num_partitions):
    """Return one client's digits. Clients differ in their label mix and in their size."""
    x, y = digits()
    draw = np.random.default_rng(2026)
    taste = draw.dirichlet(np.full(num_partitions, 0.5), size=10)  # per digit: clients' shares
    mine = []
    for digit in range(10):
        rows = np.flatnonzero((y.numpy() == digit) & (np.arange(len(y)) % TEST_SHARE != 0))
        ends = np.round(np.cumsum(taste[digit]) * len(rows)).astype(int)
        mine.append(rows[(ends[partition - 1] if partition else 0) : ends[partition]])
    rows = np.concatenate(mine)
    # A client without data gets four random digits.
    rows = rows if len(rows) else draw.choice(len(y), size=4)
    return x[rows], y[rows]


def data_of(context: Context):
    settings = context.node_config
    return client_data(int(settings["partition-id"]), int(settings["num-partitions"]))


def train(model, x, y, *, epochs, learning_rate, seed):
    """Train the model in place; return one loss per example seen."""
    torch.manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(16):
            optimizer.zero_grad()
            loss = cross_entropy(model(x[rows]), y[rows], reduction="none")
            loss.mean().backward()
            optimizer.step()
            losses.append(loss.detach())
    return torch.cat(losses).numpy()


@torch.no_grad()
def evaluate(model, x, y):
    """Return loss and accuracy."""
    scores = model(x)
    return float(cross_entropy(scores, y)), float((scores.argmax(1) == y).float().mean())
