"""How long work takes, and how much memory a tree of processes."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long a function takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class TreeMemory:
    """The peak of the proportional memory of this process and some of its children."""

    def __init__(self, children: Sequence[int]) -> None:
        self._pids = [os.getpid(), *children]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_mb = 0.0

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            self.peak_mb = max(self.peak_mb, sum(map(_pss_mb, self._pids)))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # gone, or no such file system here
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
