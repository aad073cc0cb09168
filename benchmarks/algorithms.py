"""Does selection still help under another algorithm? Tune each algorithm alike, then compare.

    python benchmarks/algorithms.py digits --out results/algorithms
    python benchmarks/algorithms.py fmnist-4 --out results/algorithms

Every algorithm gets three trials of its most important setting: with Random, a seed that is not
used again, and the score after the last round. The best setting is then run with Random and
Terraform and seeds 0, 1 and 2. Runs that are finished are not repeated.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

PROBLEMS = {
    "digits": ["--dataset", "digits", "--rounds", "50", "--eval-every", "5"],
    "fmnist-4": ["--scenario", "fmnist-4", "--model", "mlp", "--rounds", "30", "--eval-every", "5"],
}
RATES = {"digits": (0.05, 0.1, 0.2), "fmnist-4": (0.0005, 0.001, 0.002)}
TRIALS = {
    "fedavg": ("training.learning_rate", RATES),
    "fedprox": ("mu", (0.01, 0.1, 1.0)),
    "scaffold": ("server_learning_rate", (0.5, 1.0, 1.5)),
    "fednova": ("training.learning_rate", RATES),
    "feddyn": ("alpha", (0.01, 0.1, 1.0)),
    "fedavgm": ("server_learning_rate", (0.1, 0.3, 1.0)),
    "fedyogi": ("server_learning_rate", (0.003, 0.01, 0.03)),
}
TUNING_SEED = 100


def command(problem, algorithm, value, *, out, selectors, seeds):
    name, _ = TRIALS[algorithm]
    if name.startswith("training."):
        method, further = algorithm, ["--set", f"{name}={value}"]
    else:
        method, further = f"{algorithm}({name}={value})", []
    return [
        *(sys.executable, "-m", "terrafl", "compare", *PROBLEMS[problem]),
        *("--selectors", selectors, "--algorithms", method, "--seeds", seeds),
        *("--average", "100", "--workers", "1", "--quiet", "--json", "--out", str(out), *further),
    ]


def score(folder):
    """Return the score after the last round without server averaging, on which nothing is tuned."""
    (summary,) = folder.glob("*/summary.json")
    last = json.loads(summary.read_text())["points"][-1]
    return last.get("score_raw", last.get("score_average"))  # FedDyn has its own read-outs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", choices=PROBLEMS)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    chosen = {}
    for algorithm, (name, values) in TRIALS.items():
        tried = values[options.problem] if isinstance(values, dict) else values
        scores = {}
        for value in tried:
            folder = options.out / options.problem / "tuning" / f"{algorithm}-{value}"
            run = command(
                options.problem,
                algorithm,
                value,
                out=folder,
                selectors="random",
                seeds=str(TUNING_SEED),
            )
            subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
            scores[value] = score(folder)
        best = max(scores, key=scores.get)
        chosen[algorithm] = {"setting": name, "value": best, "trials": scores}
        print(algorithm, name, scores, "->", best, flush=True)
        runs = options.out / options.problem / algorithm
        run = command(
            options.problem,
            algorithm,
            best,
            out=runs,
            selectors="random,terraform",
            seeds="0,1,2",
        )
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    path = options.out / options.problem / "tuning.json"
    path.write_text(json.dumps(chosen, indent=1) + "\n")
    for folder in (options.out / options.problem).rglob("checkpoints"):
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
