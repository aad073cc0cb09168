"""Kill real runs at random instants, resume them, and compare with runs nobody disturbed.

    python tests/torture/torture.py --kills 200 --seed 0

Whole runs are killed by SIGKILL to their process group, single workers by SIGKILL to one of
them; resumes are killed too. Instants are drawn so that they fall into every phase: starting,
training, Terraform's inner iterations, writing a checkpoint, finishing. In the end configuration,
journal, model and summary must be those of an undisturbed run in one process, byte for byte.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

# Runs and their workers find the algorithm with state there.
sys.path.append(str(Path(__file__).parents[1] / "helpers"))

from terrafl.cli.main import main as terrafl
from terrafl.errors import TerraflError
from terrafl.experiments import assemble  # noqa: F401  # as above
from terrafl.experiments.config import RunConfig, resolve
from terrafl.experiments.run import execute, resume
from terrafl.runs import read_lines
from terrafl.simulation import in_process  # noqa: F401  # torch, once for all that are forked

FILES = ("config.toml", "journal.jsonl", "model.safetensors", "summary.json")
DEADLINE_S = 300
SMALL = {
    "dataset": "digits",
    "partition": {"name": "alpha-groups", "clients": 24, "alphas": [0.1, 1.0]},
    "model": "linear",
    "training": {"learning_rate": 0.05, "epochs": 2, "batch_size": 16},
    "rounds": 6,
    "clients_per_round": 16,
}
SELECTORS = (
    {"name": "terraform", "eta": 1},
    {"name": "oort"},
    {"name": "hics"},
    {"name": "terraform", "eta": 1, "anchor": True},
)

STATEFUL = "stateful:Drifting"
"""Keeps a vector per client; cannot be used with an anchor."""
ALGORITHMS = ("fedavg", "fedprox", STATEFUL)


@dataclass(frozen=True)
class Case:
    """One kind of run; without ``every`` it is the command with its own times of checkpoints."""

    selector: int
    algorithm: str
    workers: int
    every: float | None

    @property
    def config(self) -> RunConfig:
        own = {"selector": SELECTORS[self.selector], "algorithm": self.algorithm}
        return resolve(SMALL, own, {"seed": 3})

    @property
    def label(self) -> str:
        name = type(self.config.selector).name + " anchored" * (self.selector == 3)
        times = "default checkpoints" if self.every is None else "a checkpoint per iteration"
        return f"{name}, {self.algorithm}, {self.workers} worker(s), {times}"


@dataclass
class Started:
    """A run in a process group of its own."""

    pid: int
    folder: Path
    code: int | None = None

    def ended(self) -> int | None:
        """Return the exit code, negative for a signal; nothing while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self) -> int:
        end = time.monotonic() + DEADLINE_S
        while (code := self.ended()) is None:
            if time.monotonic() > end:
                self.kill()
                raise SystemExit(f"{self.folder}: the run did not end within {DEADLINE_S} s")
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(pid) for pid in children.read_text().split()] if children.exists() else []

    def has_written(self, num_bytes: int) -> bool:
        path = self.folder / "journal.jsonl"
        return path.exists() and path.stat().st_size >= num_bytes

    def is_saving(self) -> bool:
        folder = self.folder / "checkpoints"
        return folder.exists() and any(name.endswith(".tmp") for name in os.listdir(folder))


def start(case: Case, folder: Path, *, again: bool, workers: int) -> Started:
    """Start or resume a run in a fork of this process, which has loaded everything."""
    child = os.fork()
    with contextlib.suppress(PermissionError):  # whoever comes second finds it done
        os.setpgid(child, child)
    if child:
        return Started(child, folder)
    log = os.open(folder.with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 1
    try:
        code = _run(case, folder, again, workers)
    except TerraflError as error:
        print(error)
        code = error.exit_code
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(code)


def _run(case: Case, folder: Path, again: bool, workers: int) -> int:
    if case.every is not None:
        if again:
            resume(folder, workers=workers, checkpoint_every_s=case.every)
        else:
            execute(case.config, folder, workers=workers, checkpoint_every_s=case.every)
        return 0
    source = folder if again else folder.with_suffix(".toml")
    command = ["resume", str(source)] if again else ["run", str(source), "--out", str(folder)]
    sys.argv = ["terrafl", *command, "--workers", str(workers), "--quiet"]
    terrafl()
    raise AssertionError("the command always exits")


class Torture:
    """Kills runs, and keeps count."""

    def __init__(self, place: Path, seed: int) -> None:
        self.place = place
        self.random = Random(seed)
        self.count: Counter[str] = Counter()
        self.expected: dict[tuple[int, str], tuple[dict[str, bytes], float]] = {}
        self.number = 0

    def kill_one_run(self, case: Case, *, single: bool) -> None:
        """Run a case, kill it or one of its workers, see it through, and compare."""
        self._undisturbed(case)
        self.number += 1
        folder = self._new(case, f"run-{self.number}")
        run = start(case, folder, again=False, workers=case.workers)
        disturb = self._bereaved if single else self._killed_until_it_ends
        self._compare(case, folder, disturb(case, run))

    def _bereaved(self, case: Case, run: Started) -> int:
        """Kill up to three workers, one after another; the run replaces them and goes on."""
        for _ in range(3):
            self._wait_for_instant(case, run)
            victims = run.workers()
            if victims and run.ended() is None:
                os.kill(self.random.choice(victims), signal.SIGKILL)
                self._tally("single workers", run.folder)
        return run.wait()

    def _killed_until_it_ends(self, case: Case, run: Started) -> int:
        again = False
        while True:
            self._wait_for_instant(case, run)
            code = run.ended()
            if code is not None:
                return code
            run.kill()
            run.wait()
            self._tally("resumes" if again else "whole runs", run.folder)
            again = (run.folder / "config.toml").exists()
            self.count["before config.toml"] += not again
            run = start(case, run.folder, again=again, workers=1)
            if self.random.random() < 0.7:
                return run.wait()

    def _wait_for_instant(self, case: Case, run: Started) -> None:
        """Wait for an instant of some phase: of the start, of the whole, of training, of saving."""
        files, seconds = self._undisturbed(case)
        began, draw = time.monotonic(), self.random.uniform
        target = self.random.randrange(len(files["journal.jsonl"]))
        has_come, delay = self.random.choices(
            [
                (lambda: True, draw(0, 0.05)),
                (lambda: True, draw(0, seconds)),
                (lambda: run.has_written(target), draw(0, 0.02)),
                (run.is_saving, 0.0),
            ],
            weights=[1, 2, 5, 2],
        )[0]
        while not has_come() and run.ended() is None and time.monotonic() < began + DEADLINE_S:
            time.sleep(0.0002)
        end = time.monotonic() + delay
        while time.monotonic() < end and run.ended() is None:
            time.sleep(0.0002)

    def _tally(self, what: str, folder: Path) -> None:
        self.count["kills"] += 1
        self.count[what] += 1
        journal, checkpoints = folder / "journal.jsonl", folder / "checkpoints"
        if not journal.exists():
            return
        events = [event for event in read_lines(journal) if event["event"] == "cohort"]
        self.count["inner iterations"] += bool(events) and events[-1]["iteration"] > 0
        self.count["torn lines"] += not journal.read_bytes().endswith(b"\n")
        torn = [*checkpoints.glob(".*.tmp"), *folder.glob(".*.tmp")]
        self.count["half-written files"] += bool(torn)

    def _compare(self, case: Case, folder: Path, code: int) -> None:
        log = folder.with_suffix(".log").read_text()
        if code != 0:
            raise SystemExit(f"{case.label}: exit code {code} in {folder}\n{log}")
        for name, content in self._undisturbed(case)[0].items():
            if (folder / name).read_bytes() != content:
                raise SystemExit(f"{case.label}: {folder / name} differs\n{log}")
        self.count["compared"] += 1
        shutil.rmtree(folder)

    def _undisturbed(self, case: Case) -> tuple[dict[str, bytes], float]:
        """Return what a run in one process writes when nobody disturbs it, and its seconds."""
        key = (case.selector, case.algorithm)
        if key not in self.expected:
            folder = self._new(case, f"whole-{len(self.expected)}")
            before = time.monotonic()
            code = start(case, folder, again=False, workers=1).wait()
            seconds = time.monotonic() - before
            if code != 0:
                raise SystemExit(f"{case.label}: {folder.with_suffix('.log').read_text()}")
            self.expected[key] = {name: (folder / name).read_bytes() for name in FILES}, seconds
        return self.expected[key]

    def _new(self, case: Case, name: str) -> Path:
        import tomli_w

        (self.place / f"{name}.toml").write_text(tomli_w.dumps(case.config.to_plain()))
        return self.place / name


def cases(random: Random) -> Iterator[tuple[Case, bool]]:
    """Yield kinds of runs without end, and whether a single worker of one is killed.

    Every tenth has workers, whose start takes most of the time; every other of these loses some.
    """
    kinds = [
        (selector, algorithm, every)
        for selector in range(len(SELECTORS))
        for algorithm in ALGORITHMS
        for every in (0.0, None)
        if not (algorithm == STATEFUL and SELECTORS[selector].get("anchor"))
    ]
    for number in count():
        if number % len(kinds) == 0:
            random.shuffle(kinds)
        selector, algorithm, every = kinds[number % len(kinds)]
        workers = 2 if number % 10 == 3 else 1
        yield Case(selector, algorithm, workers, every), number % 20 == 3


def main() -> None:
    """Kill until enough is killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    place, began = Path(tempfile.mkdtemp(prefix="torture-")), time.monotonic()
    torture = Torture(place, given.seed)
    # What a first run loads and compiles, all that are forked have then.
    execute(Case(0, "fedavg", 1, 0.0).config, place / "first")
    try:
        for case, single in cases(Random(given.seed)):
            done = torture.count["kills"]
            if done >= given.kills:
                break
            print(f"{done:4d} of {given.kills} kills; next: {case.label}", flush=True)
            torture.kill_one_run(case, single=single)
    except KeyboardInterrupt:
        print("stopped; what was found so far:")
    shutil.rmtree(place)
    found, seconds = torture.count, time.monotonic() - began
    print(
        f"{found['kills']} kills in {seconds:.0f} s, seed {given.seed}: {found['whole runs']} of "
        f"whole runs, {found['resumes']} of resumes, {found['single workers']} of single workers; "
        f"{found['inner iterations']} inside an inner iteration, {found['before config.toml']} "
        f"before config.toml was there, {found['half-written files']} left a half-written file, "
        f"{found['torn lines']} a torn line. All {found['compared']} runs ended with the bytes of "
        "an undisturbed one."
    )


if __name__ == "__main__":
    main()
