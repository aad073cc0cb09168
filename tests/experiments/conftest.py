"""Experiments that take a twentieth of a second."""

import re

import pytest

from terrafl.experiments.config import resolve

# In the words of terrafl.run and terrafl.compare, and of a configuration file.
SETTINGS = {
    "dataset": "digits",
    "partition": {"name": "alpha-groups", "clients": 12, "alphas": [0.1, 1.0]},
    "model": "linear",
    "training": {"learning_rate": 0.05, "epochs": 1, "batch_size": 32},
    "rounds": 2,
    "clients_per_round": 6,
}


@pytest.fixture(scope="session")
def small():
    return SETTINGS


@pytest.fixture(scope="session")
def tiny():
    return lambda **changes: resolve(SETTINGS, changes)


@pytest.fixture(scope="session")
def written():
    """Return what a run wrote that equal runs write equally."""

    def read(folder):
        names = ("config.toml", "journal.jsonl", "model.safetensors", "summary.json")
        files = {name: (folder / name).read_bytes() for name in names}
        # A commit that is made while the tests run is no difference between the runs.
        return {name: re.sub(rb'commit"?[:=\s"]+\w{40}', b"", files[name]) for name in names}

    return read
