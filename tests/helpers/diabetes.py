"""A real regression problem: the progression of diabetes in 442 patients."""

from pathlib import Path

import numpy as np

TABLE = np.loadtxt(Path(__file__).with_name("diabetes.csv"), delimiter=",", skiprows=4)
SETTINGS = {
    "task": "regression",
    "model": "linear",
    "partition": {"name": "iid", "clients": 12},
    "clients_per_round": 8,
    "rounds": 6,
    "training": {"learning_rate": 0.02, "epochs": 4, "batch_size": 16},
    "workers": 1,
}


def write_diabetes(path):
    """Write an .npz file; patients of one decade of life belong to one owner."""
    x, y = TABLE[:, :-1], TABLE[:, -1]
    owner = np.array([f"age-{int(age) // 10}0" for age in x[:, 0]])
    in_test = np.arange(len(y)) % 4 == 0
    np.savez(
        path,
        **{"x_train": x[~in_test], "y_train": y[~in_test], "owner_train": owner[~in_test]},
        **{"x_test": x[in_test], "y_test": y[in_test], "owner_test": owner[in_test]},
    )
    return path
