"""Wildfire sensors: two kinds of clients with rare true alarms. All data is simulated.

The paper's motivation is a federation with two kinds of sensors. A few cameras in the forest have
little data but report wildfires reliably. Many smoke sensors in homes report stoves, burns and
exhausts all the time, but almost never a wildfire. This script simulates such data, trains with
Random and with Terraform, and shows the accuracy for each kind of sensor.

    python examples/wildfire/wildfire.py --out wildfire
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

import terrafl
from terrafl.data import load
from terrafl.experiments.result import Result
from terrafl.experiments.run import read_config
from terrafl.runs import RunFolder

Table = dict[str, dict[str, list[float]]]

CLASSES = ("quiet", "other smoke", "wildfire")
NUM_FEATURES = 12
CAMERAS, HOMES = 12, 88
KINDS = ("camera", "home")
CLIENTS_PER_ROUND = 15
METHODS = ("random", "terraform", "random, as many updates")
COLOURS = ("#8a8a8a", "#D55E00", "#0072B2")


def simulate(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Simulate the readings of all sensors.

    A reading is 12 numbers around a centre. The centre depends on the class and, for both kinds of
    smoke, on the kind of sensor: a distant plume on a camera differs from smoke in a kitchen. A
    wildfire on a camera is close to a stove on a home sensor.
    """
    quiet, stove, indoors = generator.normal(0.0, 1.0, size=(3, NUM_FEATURES))
    plume = stove + 0.6 * generator.normal(0.0, 1.0, size=NUM_FEATURES)
    haze = plume + 0.8 * generator.normal(0.0, 1.0, size=NUM_FEATURES)
    centres = {"camera": (quiet, haze, plume), "home": (quiet, stove, indoors)}
    shares = {"camera": (0.60, 0.15, 0.25), "home": (0.58, 0.40, 0.02)}
    sensors = [("camera", i, generator.integers(40, 80)) for i in range(CAMERAS)]
    sensors += [("home", i, generator.integers(100, 300)) for i in range(HOMES)]
    xs, ys, owners = [], [], []
    for kind, number, size in sensors:
        y = generator.choice(len(CLASSES), size=size, p=shares[kind])
        place = 0.3 * generator.normal(size=NUM_FEATURES)  # each sensor has its own offset
        noise = generator.normal(size=(size, NUM_FEATURES))
        xs.append(np.array(centres[kind])[y] + place + noise)
        ys.append(y)
        owners.append(np.full(size, f"{kind}-{number:02}"))
    x, y, owner = (np.concatenate(part) for part in (xs, ys, owners))
    test = generator.random(len(y)) < 0.25
    parts = {"train": ~test, "test": test}
    return {
        f"{name}_{part}": array[rows]
        for name, array in (("x", x), ("y", y), ("owner", owner))
        for part, rows in parts.items()
    }


def by_kind(folder: Path) -> dict[str, float]:
    """Return the accuracy and the share of wildfires found, for each kind of sensor."""
    config = read_config(RunFolder(folder))
    dataset = load(config.dataset, generator=np.random.default_rng(0))
    network = config.model.build(dataset.input_shape, dataset.num_classes)
    network.load_state_dict(load_file(folder / "model.safetensors"))
    scale, offset = dataset.normalisation.affine()
    with torch.no_grad():
        x = torch.from_numpy(dataset.test.x * scale + offset)
        right = network(x).argmax(dim=1).numpy() == dataset.test.y
    found = {}
    for kind in KINDS:
        of_kind = np.char.startswith(dataset.test.group, kind)
        fires = of_kind & (dataset.test.y == CLASSES.index("wildfire"))
        found[f"{kind} accuracy"] = 100 * float(right[of_kind].mean())
        found[f"{kind} wildfires found"] = 100 * float(right[fires].mean())
    return found


def train(method: str, data: Path, seed: int, rounds: int, options: argparse.Namespace) -> Result:
    """Train one federation with one method."""
    return terrafl.run(
        dataset=str(data),
        selector=method.split(",", maxsplit=1)[0],
        seed=seed,
        rounds=rounds,
        clients_per_round=CLIENTS_PER_ROUND,
        model={"name": "mlp", "hidden": [32]},
        out=options.out / "runs" / f"{method.replace(', ', '-').replace(' ', '-')}-s{seed}",
        workers=options.workers,
    )


def draw(table: Table, path: Path) -> None:
    """Draw one group of bars per measure, and a dot per seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axes = figure.subplots()
    names = [name for name in table[METHODS[0]] if name != "client updates"]
    for number, (method, colour) in enumerate(zip(METHODS, COLOURS, strict=True)):
        x = np.arange(len(names)) + (number - 1) * 0.27
        means = [np.mean(table[method][name]) for name in names]
        axes.bar(x, means, width=0.25, color=colour, label=method.capitalize())
        for place, name in zip(x, names, strict=True):
            seeds = table[method][name]
            axes.plot([place] * len(seeds), seeds, ".", color="black", markersize=4)
    axes.set_xticks(range(len(names)), [name.replace(" ", "\n", 1) for name in names])
    axes.set_ylabel("% of test readings")
    axes.set_title("Simulated sensors: mean over seeds, each seed a dot", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Simulate, train and show the results."""
    parser = argparse.ArgumentParser(description="Two kinds of simulated sensors.")
    parser.add_argument("--out", type=Path, default=Path("wildfire"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    table: Table = {method: {} for method in METHODS}
    for seed in range(options.seeds):
        data = options.out / f"simulated-{seed}.npz"  # a seed also changes the sensors
        np.savez(data, **simulate(np.random.default_rng(seed)))
        rounds = options.rounds
        for method in METHODS:
            result = train(method, data, seed, rounds, options)
            updates = result.summary.client_updates
            rounds = round(updates / CLIENTS_PER_ROUND) if method == "terraform" else rounds
            measured = by_kind(result.folder.path) | {"client updates": float(updates)}
            for name, value in measured.items():
                table[method].setdefault(name, []).append(value)
    for method, measures in table.items():
        for name, values in measures.items():
            sd = np.std(values, ddof=1) if len(values) > 1 else 0.0
            print(f"{method:<24} {name:<23} {np.mean(values):6.1f} ± {sd:.1f}")
    (options.out / "table.json").write_text(json.dumps(table, indent=1) + "\n")
    draw(table, options.out / "by-kind.png")


if __name__ == "__main__":
    main()
