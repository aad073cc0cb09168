"""How long `terrafl run` takes to its first training step, once torch is imported.

    python benchmarks/startup.py [--dataset digits] [--repetitions 5]

With one worker everything happens in one process, and the step is timed there. With two, the
step happens in a worker: from the start of the command to the first sign of training, less the
time that importing torch takes in a process of its own, measured in turns.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ONE = """
import sys, time
import torch
done = time.perf_counter()
from terrafl.simulation.trainer import Trainer
train = Trainer.train
def first(self, *arguments):
    print("STEP", time.perf_counter() - done, flush=True)
    Trainer.train = train
    return train(self, *arguments)
Trainer.train = first
sys.argv = ["terrafl", *sys.argv[1:]]
from terrafl.cli.main import main
main()
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    one, two = [], []
    for _ in range(options.repetitions):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["run", "--dataset", options.dataset, "--rounds", "1", "--quiet", "--out"]
            output = subprocess.run(
                [sys.executable, "-c", ONE, *arguments, f"{folder}/one", "--workers", "1"],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
            one.append(float(output.split("STEP")[1].split()[0]))
            two.append(_with_workers([*arguments, f"{folder}/two"], folder) - _import_torch())
    for name, seconds in (("1 worker", one), ("2 workers", two)):
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        print(f"{options.dataset}, {name}: {statistics.median(seconds):.2f} s ({spread})")


def _import_torch():
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


def _with_workers(arguments, folder):
    """Return the seconds until the journal names the first cohort, which then trains."""
    journal = Path(folder, "two", "journal.jsonl")
    started = time.perf_counter()
    command = [sys.executable, "-m", "terrafl", *arguments, "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not (journal.exists() and b'"cohort"' in journal.read_bytes()):
            if process.poll() is not None:
                raise SystemExit("terrafl run failed")
            time.sleep(0.002)
        seconds = time.perf_counter() - started
    return seconds


if __name__ == "__main__":
    main()
