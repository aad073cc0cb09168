"""What every system trains, and how it reports: one line of JSON a round."""

import argparse
import json
import time
from dataclasses import dataclass

LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Workload:
    """One of the two networks, and how much of it is trained."""

    name: str
    batch_size: int
    num_parameters: int
    clients_per_round: int = 15
    epochs: int = 2
    rounds: int = 3
    processes: int = 2

    def check(self, num_parameters):
        if num_parameters != self.num_parameters:
            raise SystemExit(
                f"{self.name} must have {self.num_parameters} parameters; got {num_parameters}."
            )


SIZES = {"cnn": (64, 1_663_370), "mlp": (10, 199_210)}


def from_command_line():
    """Read the workload that run.py asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", choices=SIZES, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args()
    smaller = {"clients_per_round": 3, "epochs": 1} if given.smoke else {}
    return Workload(
        given.workload,
        *SIZES[given.workload],
        rounds=given.rounds,
        processes=given.processes,
        **smaller,
    )


class Stopwatch:
    """Reports rounds, each from the end of the one before it."""

    def __init__(self):
        self._round = 0
        self._last = time.perf_counter()

    def round_done(self, samples):
        now = time.perf_counter()
        self._round += 1
        line = {"round": self._round, "seconds": now - self._last, "samples": samples}
        print(json.dumps(line), flush=True)
        self._last = now
