"""Run a system once: the rounds it reports, the memory of its process tree, what went wrong."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

MEMORY_EVERY_S = 0.2


@dataclass
class Run:
    """One start of one system, either for its memory or for its speed.

    Reading the memory of a dozen processes takes time that a timed round would be charged with.
    ``first_round_s`` is from the start to the end of round 1.
    """

    system: str
    workload: str
    for_memory: bool
    busy_before: float = 0.0
    rounds: list[dict] = field(default_factory=list)
    first_round_s: float = 0.0
    peak_pss_mb: float = 0.0
    failure: str = ""


def run(run, command, environment, log, timeout_s):
    """Start a command, and fill in the run from what it does."""
    log.parent.mkdir(exist_ok=True)
    started = time.monotonic()
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        done = threading.Event()
        watch = threading.Thread(target=_watch, args=(run, process.pid, done))
        alarm = threading.Timer(timeout_s, _end, [process])
        if run.for_memory:
            watch.start()
        alarm.start()
        try:
            for line in process.stdout:
                if line.startswith('{"round"'):
                    run.rounds.append(json.loads(line))
                    run.first_round_s = run.first_round_s or time.monotonic() - started
            code = process.wait()
        finally:
            _end(process)
            alarm.cancel()
            done.set()
            if run.for_memory:
                watch.join()
    if time.monotonic() - started >= timeout_s:
        run.failure = f"not done after {timeout_s} s"
    elif code:
        run.failure = _reason(log.read_text(), code)
    return run


def _end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _reason(text, code):
    errors = re.findall(r"^[\w.]*(?:Error|Exception)\b.*", text, re.MULTILINE)
    lines = errors[:1] or [line for line in text.splitlines() if line.strip()][-1:]
    return (lines[0] if lines else f"exit code {code}").strip()


def _watch(run, pid, done):
    while not done.wait(MEMORY_EVERY_S):
        run.peak_pss_mb = max(run.peak_pss_mb, sum(map(_pss_mb, _tree(pid))))


def _tree(root):
    """Return a process and all that descend from it."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:  # gone
            continue
        children.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    tree = [root]
    for pid in tree:
        tree += children.get(pid, [])
    return tree


def _pss_mb(pid):
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(kb) for kb in re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE)) / 1024


def busy_share(seconds=1.0):
    """Return the share of all cores that is in use now."""

    def ticks():
        values = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        return sum(values), values[3] + values[4]  # idle, waiting for a disk

    total, idle = ticks()
    time.sleep(seconds)
    total_after, idle_after = ticks()
    return 1 - (idle_after - idle) / max(1, total_after - total)
