"""The folders and checksums of data sets and pretrained weights."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from terrafl.errors import DataError


def chosen(root: Path | None) -> Path | None:
    """Return the given folder, or ``$TERRAFL_DATA``, or ``None``."""
    data = os.environ.get("TERRAFL_DATA")
    return root or (Path(data) if data else None)


def home(root: Path | None) -> Path:
    """Return the folder for downloads: the given one, ``$TERRAFL_DATA``, or the user's cache."""
    return chosen(root) or user_cache()


def user_cache() -> Path:
    """Return the cache folder of the user: ``$XDG_CACHE_HOME/terrafl`` or ``~/.cache/terrafl``."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # The XDG specification says that a relative path must be ignored.
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "terrafl"


def search_folders(
    root: Path | None, names: Sequence[str], system: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """Return the folders in which files are searched, in this order.

    Parameters
    ----------
    root
        The only folder to search; ``None`` for ``$TERRAFL_DATA``, the user's cache
        (``$XDG_CACHE_HOME/terrafl`` or ``~/.cache/terrafl``) and the system's folders.
    names
        Names of the files' subfolder; fetched files go to the first.
    system
        Where operating systems or packages install the files.
    """
    given = chosen(root)
    folders = [given, *(given / name for name in names)] if given else []
    if root is None:
        folders += [user_cache() / names[0], *system]
    return tuple(folders)


def sha256_of(path: Path, size: int | None = None) -> str:
    """Return the SHA-256 of a file, in hexadecimal; raise if it has another length than given."""
    try:
        with path.open("rb") as stream:
            found = os.fstat(stream.fileno()).st_size
            if size not in (None, found):
                raise DataError(f"{path} must have {size} bytes; got {found}.")
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} must be readable; got: {error}.") from error


def require_sha256(path: Path, sha256: str, size: int | None = None) -> None:
    """Raise unless a file has this SHA-256 and, if it is given, this length in bytes."""
    if (digest := sha256_of(path, size)) != sha256:
        raise DataError(f"the sha256 of {path} must be {sha256}; got {digest}.")
