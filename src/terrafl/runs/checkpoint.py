"""Checkpoints that are whole or absent.

A checkpoint is a folder with the arrays (safetensors) and a manifest (JSON) that holds
everything else and the arrays' SHA-256. It is written under a temporary name and renamed when
complete. No pickle: a checkpoint from another person can be opened safely.
"""

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from terrafl.runs.atomic import sync_folder, write_synced

_log = logging.getLogger(__name__)

KEPT = 2
_NAME = re.compile(r"\d{9}", re.ASCII)
_UNFINISHED = ".[0-9]*.tmp"
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The state of a run between two iterations.

    Parameters
    ----------
    values
        What JSON can hold.
    arrays
        Numeric arrays by name.
    """

    values: Mapping[str, Any]  # Any: what JSON can hold
    arrays: Mapping[str, NDArray[np.generic]]


def save(folder: Path, number: int, checkpoint: Checkpoint) -> None:
    """Write a checkpoint and delete all but the newest two.

    Parameters
    ----------
    folder
        The run's folder of checkpoints.
    number
        Grows with every checkpoint of a run.
    checkpoint
        What to write.
    """
    from safetensors.numpy import save as to_safetensors

    if not folder.exists():
        folder.mkdir()
        sync_folder(folder.parent)
    arrays = to_safetensors({k: np.ascontiguousarray(v) for k, v in checkpoint.arrays.items()})
    manifest = {"values": checkpoint.values, "sha256": hashlib.sha256(arrays).hexdigest()}
    text = json.dumps(manifest, allow_nan=False)
    sealed = {"manifest": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    temporary, final = folder / f".{number:09d}.tmp", folder / f"{number:09d}"
    for stale in folder.glob(_UNFINISHED):
        shutil.rmtree(stale)
    try:
        temporary.mkdir()
        write_synced(temporary / "arrays.safetensors", arrays)
        write_synced(temporary / "manifest.json", json.dumps(sealed).encode())
        sync_folder(temporary)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(temporary, final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # of a full disk every byte is wanted
    sync_folder(folder)
    for old in _newest_first(folder)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> Iterator[tuple[Path, Checkpoint]]:
    """Yield the checkpoints that are whole, the newest first.

    A damaged one is passed over with a warning that names it.
    """
    for path in _newest_first(folder):
        checkpoint = _load(path)
        if checkpoint is None:
            _log.warning("checkpoint %s is damaged and was passed over for the one before it", path)
        else:
            yield path, checkpoint


def discard(folder: Path) -> None:
    """Delete all checkpoints, whole or not, and the folder unless something else lies there."""
    for path in [*_newest_first(folder), *folder.glob(_UNFINISHED)]:
        shutil.rmtree(path)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _newest_first(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((p for p in folder.iterdir() if _NAME.fullmatch(p.name)), reverse=True)


def _load(path: Path) -> Checkpoint | None:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    try:
        sealed = json.loads((path / "manifest.json").read_bytes())
        if hashlib.sha256(sealed["manifest"].encode()).hexdigest() != sealed["sha256"]:
            return None
        manifest = json.loads(sealed["manifest"])
        data = (path / "arrays.safetensors").read_bytes()
        if hashlib.sha256(data).hexdigest() != manifest["sha256"]:
            return None
        checkpoint = Checkpoint(manifest["values"], from_safetensors(data))
    except (*_DAMAGE, SafetensorError):
        return None
    return checkpoint if isinstance(checkpoint.values, dict) else None
