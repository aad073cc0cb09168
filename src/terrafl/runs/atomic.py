"""Files that are whole or absent, whatever interrupts the writer."""

import os
from pathlib import Path


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by a new one in a single step: readers see the old one or the new one."""
    temporary = unfinished(path)
    try:
        write_synced(temporary, data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def unfinished(path: Path) -> Path:
    """Return the name that a file has while :func:`write_atomically` writes it."""
    return path.with_name(f".{path.name}.tmp")


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of names is on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
