"""Fetch the missing and damaged files of a data set: download them over https with pooch.

Bytes are collected in a ``.part`` file beside the destination, so that an interrupted download is
resumed. Only a file with the right hash gets its final name.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from terrafl.data.archives import Archive, unpacked
from terrafl.data.entry import Entry
from terrafl.data.files import DataFile, FileStatus, Progress, Published
from terrafl.errors import DataError
from terrafl.folders import home

if TYPE_CHECKING:
    import requests

Wanted = list[tuple[Published[Any], Path]]  # Any: the content differs between data sets

_CHUNK = 1 << 14
_TIMEOUT_S = 30.0  # without a byte
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416


def fetch_entry(
    entry: Entry[Any],  # Any: as above
    root: Path | None,
    progress: Progress | None = None,
    base_url: str = "",
) -> list[Path]:
    """Download the missing and damaged files of an entry; return the paths of all files."""
    folder, url = home(root), base_url or entry.base_url
    paths, wanted = [], []
    for file, status in zip(entry.files, entry.check(root), strict=True):
        path = status.path
        if path is None or not status.ok:
            path = _destination(entry, status, folder)
            wanted.append((entry.original or file, path))
        paths.append(path)
    if wanted and entry.archive is not None:
        _fetch_archive(entry.archive, folder, wanted, url, progress)
        return paths
    alternative = f"Or {entry.alternative.format(home=folder)}." if entry.alternative else ""
    for number, (file, path) in enumerate(wanted, start=1):
        assert isinstance(file, DataFile)  # other forms are published in archives
        rest = ", ".join(other.name for other, _ in wanted[number:])
        others = f"Put {rest} beside it. " if rest else ""
        download(file, path, url, progress, alternative=others + alternative)
    return paths


def _destination(entry: Entry[Any], status: FileStatus, folder: Path) -> Path:  # Any: as above
    """Return where to fetch a missing or damaged file; raise if it must not or cannot be."""
    if not entry.base_url:
        raise DataError(status.problem)
    name = status.name if entry.original is None else entry.original.name
    place = folder / entry.subfolders[0] / name
    if entry.original is not None and status.path not in (None, place):
        raise DataError(status.problem)  # the user's, in another form: do not replace it
    # A damaged file in the user's folder would be found before its replacement: replace it there.
    # One in a system folder would be found after it.
    if status.path is not None and status.path.is_relative_to(folder):
        return status.path
    return place


def _fetch_archive(
    archive: Archive, folder: Path, wanted: Wanted, url: str, progress: Progress | None
) -> None:
    """Take files out of the user's copy of an archive, or of a download that is then deleted."""
    for file, path in wanted:
        if path.is_dir():  # may hold other files of the user: do not delete it
            raise DataError(
                f"{path} must be the published {file.name}; got another. Delete it and fetch again."
            )
    stored = folder / archive.name
    users_copy = stored.is_file()
    if users_copy:
        try:
            archive.verify(stored)
        except DataError as error:
            raise DataError(f"{error} Delete it and fetch again.") from error
    else:
        download(archive, stored, url, progress)
    try:
        with unpacked(stored, archive.unpacked_limit, progress) as content:
            for file, path in wanted:
                source = content / archive.inside / file.name
                file.verify(source)
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, path)
    except OSError as error:
        raise DataError(f"{folder} must be writable; got: {error}.") from error
    finally:
        if not users_copy:
            stored.unlink()


def download(
    file: DataFile,
    destination: Path,
    base_url: str,
    progress: Progress | None = None,
    *,
    alternative: str = "",
) -> Path:
    """Download a file to a path, and return the path.

    Parameters
    ----------
    file
        The file, with its hash.
    destination
        Its path; an existing file is replaced after the new one has been verified.
    base_url
        The address that the file's name is appended to; https only.
    progress
        Called for every piece that arrives.
    alternative
        What a user without access to the address can do instead: whole sentences.
    """
    import pooch

    url = urljoin(base_url, file.name)
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            url,
            known_hash=file.known_hash,
            fname=destination.name,
            path=destination.parent,
            downloader=_Resuming(file, destination, progress),
        )
    except DataError:
        raise
    except OSError as error:  # errors of requests, too, which hold the reason that urllib3 gives
        reason = getattr(error.args[0] if error.args else None, "reason", error)
        raise DataError(
            f"could not download {url} over https: {reason}. Try again: the download "
            f"resumes where it stopped. Or put the file at {destination}; its hash must be "
            f"{file.known_hash}. {alternative}".rstrip()
        ) from error
    except ValueError as error:
        raise DataError(
            f"{url} must be the published file with the hash {file.known_hash}; got another file. "
            "Nothing was kept; try again later."
        ) from error
    return destination


class _Resuming:
    """A downloader for pooch that resumes, accepts https only, and bounds the length."""

    def __init__(self, file: DataFile, destination: Path, progress: Progress | None) -> None:
        self._file = file
        self._part = destination.with_name(destination.name + ".part")
        self._progress = progress

    def __call__(self, url: str, output_file: str, _pooch: object) -> None:
        """Download to the ``.part`` file, then move it to the path that pooch verifies."""
        import requests

        start = self._part.stat().st_size if self._part.exists() else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        trusted = ssl.get_default_verify_paths()
        with requests.Session() as session:
            session.adapters.pop("http://")  # a redirection to http fails, too
            session.verify = trusted.cafile or trusted.capath or True
            with session.get(url, headers=headers, stream=True, timeout=_TIMEOUT_S) as response:
                if response.status_code != _RANGE_NOT_SATISFIABLE:  # then the part is complete
                    response.raise_for_status()
                    self._receive(response, start)
        os.replace(self._part, output_file)

    def _receive(self, response: requests.Response, start: int) -> None:
        if response.status_code != _PARTIAL_CONTENT:
            start = 0
        sent = response.headers.get("Content-Range", f"bytes {start}-")
        if not sent.startswith(f"bytes {start}-"):
            raise DataError(f"{response.url} must send bytes from {start}; got {sent!r}.")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else None
        with self._part.open("ab" if start else "wb") as stream:
            for piece in response.iter_content(_CHUNK):
                start += len(piece)
                if max(start, total or 0) > self._file.limit:
                    self._part.unlink()
                    raise DataError(
                        f"{self._file.name} must have at most {self._file.limit} bytes; "
                        f"{response.url} sends more. Nothing was kept; try again later."
                    )
                stream.write(piece)
                if self._progress is not None:
                    self._progress(self._file.name, start, total)
