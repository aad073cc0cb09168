"""Vectors per client in one memory-mapped file, safe against kill -9.

A client's vectors lie in a slot. Each checkpoint names the slots that it needs, and such a slot
is not overwritten while the checkpoint is kept: new values go to a free slot.
"""

import math
import os
import tempfile
import weakref
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import RunFolderError, StorageError
from terrafl.records import State, Vector
from terrafl.runs.checkpoint import KEPT

_GROWTH = 16  # slots by which the file grows


class SlotFile:
    """The client state of an algorithm.

    Parameters
    ----------
    path
        The file; ``None`` keeps the vectors in a temporary file.
    size
        Length of a vector.
    names
        Names of the vectors that each client has.
    """

    def __init__(self, path: Path | None, size: int, names: Sequence[str]) -> None:
        self._path = path
        self._names = tuple(names)
        self._shape = (len(self._names), size)
        self._file: BinaryIO | None = None
        self._slots: NDArray[np.float32] = np.empty((0, *self._shape), dtype=np.float32)
        self._index: dict[str, int] = {}
        self._checksums: dict[str, int] = {}  # by slot
        # Slots of the kept checkpoints, and of the one that is being written.
        self._protected: deque[dict[str, int]] = deque(maxlen=KEPT + 1)

    def __len__(self) -> int:
        """Return how many clients have vectors."""
        return len(self._index)

    def __contains__(self, client_id: object) -> bool:
        """Return whether a client has vectors."""
        return client_id in self._index

    def get(self, client_id: str) -> dict[str, Vector]:
        """Return a copy of a client's vectors by name; zeros for a client that has none yet."""
        slot = self._index.get(client_id)
        if slot is None:
            return {name: np.zeros(self._shape[1], dtype=np.float32) for name in self._names}
        return dict(zip(self._names, np.array(self._slots[slot]), strict=True))

    def put(self, client_id: str, vectors: Mapping[str, Vector]) -> None:
        """Replace a client's vectors, without touching what a checkpoint needs."""
        slot = self._index.get(client_id)
        kept = {number for index in self._protected for number in index.values()}
        if slot is None or slot in kept:
            slot = self._free_slot(kept | set(self._index.values()))
            self._index[client_id] = slot
        for row, name in enumerate(self._names):
            self._slots[slot, row] = vectors[name]
        self._checksums[str(slot)] = zlib.crc32(self._slots[slot].data)

    def state(self) -> State:
        """Write everything to disk; return which slot is whose, now and one checkpoint before."""
        if self._file is not None and isinstance(self._slots, np.memmap):
            self._slots.flush()
            os.fsync(self._file.fileno())
        before = self._protected[-1] if self._protected else {}
        self._protected.append(dict(self._index))
        checksums = dict(self._checksums)
        return {"index": dict(self._index), "before": before, "checksums": checksums}

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        self._index = dict(state["index"])  # type: ignore[arg-type]  # as stored
        self._protected.extend([dict(state["before"]), dict(self._index)])  # type: ignore[arg-type]
        if self._index:
            length = os.fstat(self._opened().fileno()).st_size // (4 * math.prod(self._shape))
            if max(self._index.values()) >= length:
                raise RunFolderError(
                    f"{self._path} must hold the client state of its checkpoint; it is too short: "
                    "restore the file, or start the run again in another folder."
                )
            self._map(length)
            self._checksums = dict(state["checksums"])  # type: ignore[arg-type]  # as stored
            for slot in self._index.values():
                if zlib.crc32(self._slots[slot].data) != self._checksums[str(slot)]:
                    raise RunFolderError(
                        f"{self._path} must hold the client state of its checkpoint; it is "
                        "damaged: restore the file, or start the run again in another folder."
                    )

    def _free_slot(self, used: set[int]) -> int:
        slot = next(number for number in range(len(used) + 1) if number not in used)
        if slot >= len(self._slots):
            self._map(slot + _GROWTH)
        return slot

    def _map(self, num_slots: int) -> None:
        """Map the file with room for so many slots."""
        shape, file = (num_slots, *self._shape), self._opened()
        try:  # a hole in the file would be a crash later, when the disk is full
            os.posix_fallocate(file.fileno(), 0, 4 * math.prod(shape))
        except OSError as error:
            raise StorageError(
                f"{self._path or 'the temporary folder'} cannot hold the state of all clients: "
                f"{error.strerror}. The work so far is kept: free space, then resume the run."
            ) from error
        self._slots = np.memmap(file, dtype=np.float32, mode="r+", shape=shape)

    def _opened(self) -> BinaryIO:
        if self._file is not None:
            return self._file
        if self._path is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed with this object
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            self._file = os.fdopen(os.open(self._path, flags, 0o644), "r+b")
        weakref.finalize(self, self._file.close)
        return self._file
