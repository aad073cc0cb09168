"""Memory and time of client state: SCAFFOLD against FedAvg with 500 clients and 1.07 M parameters.

python benchmarks/client_state.py > results/bench/client-state.txt

Every client takes part once, in cohorts of 10, so that the slot file ends with all 500. Both
algorithms run in turn in fresh processes, three times each; a copy of the cohort's vectors is timed
beside them.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import ClassVar

import numpy as np

from terrafl.experiments.api import configure
from terrafl.experiments.run import execute
from terrafl.selection import Cohort, Selector

CLIENTS, COHORT, ROUNDS = 500, 10, 50


def memory_mb():
    """Return RssAnon + RssShmem of this process and its children, in MB."""
    total = 0
    me = str(Path("/proc/self").resolve().name)
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except (OSError, ValueError):
            continue
        if me in (status.parent.name, lines.get("PPid", "").strip()):
            total += sum(int(lines[key].split()[0]) for key in ("RssAnon", "RssShmem"))
    return total / 1024


@dataclass(slots=True, kw_only=True)
class InTurn(Selector):
    """Everybody once, in the order of ids."""

    name: ClassVar[str] = "in-turn"

    def draw(self, context):
        ids = context.population.ids.tolist()
        start = context.round * COHORT % len(ids)
        return Cohort.of(ids[start : start + COHORT])


def measure(algorithm):
    config = configure(
        dataset="digits",
        partition={"name": "iid", "clients": CLIENTS},
        model={"name": "mlp", "hidden": [1000, 1000]},
        training={"learning_rate": 0.05, "epochs": 60, "batch_size": 64},
        selector=InTurn(),
        algorithm=algorithm,
        rounds=ROUNDS,
        clients_per_round=COHORT,
        eval_every=ROUNDS,
    )
    peak, ends = [0.0], []

    def on_round(done, planned, accuracy):
        peak[0] = max(peak[0], memory_mb())
        ends.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        execute(config, Path(folder) / "run", workers=2, on_round=on_round)
        stored = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
    seconds = median(np.diff(ends))
    print(algorithm, round(peak[0]), seconds, stored)


def copy_seconds(size):
    """Return the seconds to copy a cohort's vectors: given, returned, stored."""
    source = np.random.default_rng(0).normal(size=(COHORT, size)).astype(np.float32)
    target = np.empty_like(source)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(4):  # read from the slot file, shared memory, new value, slot file
            target[...] = source
        times.append(time.perf_counter() - started)
    return median(times)


def main():
    size = 64 * 1000 + 1000 + 1000 * 1000 + 1000 + 1000 * 10 + 10
    found = {"fedavg": [], "scaffold": []}
    for _ in range(3):
        for algorithm, results in found.items():
            command = [sys.executable, __file__, algorithm]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results.append(done.stdout.split()[1:4])
    seconds = {a: median(float(r[1]) for r in rows) for a, rows in found.items()}
    peaks = {a: max(int(r[0]) for r in rows) for a, rows in found.items()}
    copied = copy_seconds(size)
    print(f"{CLIENTS} clients, {size:,} parameters, cohorts of {COHORT}, 2 workers")
    for algorithm, rows in found.items():
        stored = max(int(r[2]) for r in rows) / 1e6
        print(
            f"{algorithm:9} {seconds[algorithm]:.3f} s a round, peak RssAnon + RssShmem "
            f"{peaks[algorithm]} MB, run folder {stored:,.0f} MB"
        )
    print(f"copy of the cohort's vectors, four times: {copied:.3f} s")
    ratio = seconds["scaffold"] / (seconds["fedavg"] + copied)
    print(f"scaffold / (fedavg + copy): {ratio:.2f}")


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else main()
