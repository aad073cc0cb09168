"""Helpers of the benchmarks: processes that work without federation, and a memory meter."""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from terrafl.engine.process import JsonProcess

__all__ = ["Crowd", "TreeMemory"]


class Crowd:
    """Processes that take work in the order given, each the next piece when it is free."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._processes = [JsonProcess("terrafl.bench.loops") for _ in range(size)]

    def do(self, work: Sequence[Mapping[str, object]]) -> None:
        """Have all of it done."""
        queue = iter(work)
        with selectors.DefaultSelector() as ready:
            for process in self._processes:
                self._give(process, queue, ready)
            while ready.get_map():
                for key, _ in ready.select():
                    assert isinstance(key.fileobj, JsonProcess)
                    key.fileobj.receive()
                    ready.unregister(key.fileobj)
                    self._give(key.fileobj, queue, ready)

    @staticmethod
    def _give(
        process: JsonProcess,
        queue: Iterator[Mapping[str, object]],
        ready: selectors.BaseSelector,
    ) -> None:
        piece = next(queue, None)
        if piece is not None:
            process.send(piece)
            ready.register(process, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.close()


class TreeMemory:
    """The peak of the proportional memory of this process and some of its children."""

    def __init__(self, children: Sequence[int], interval_s: float = 0.2) -> None:
        self._pids = [os.getpid(), *children]
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_mb = 0.0

    def _watch(self) -> None:
        while not self._stop.wait(self._interval_s):
            self.peak_mb = max(self.peak_mb, sum(map(_pss_mb, self._pids)))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # gone, or no such file system here
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
