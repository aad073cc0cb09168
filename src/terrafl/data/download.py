"""Download one published file over https with pooch.

Bytes are collected in a ``.part`` file beside the destination, so that an interrupted download is
resumed. Only a file with the right hash gets its final name.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from terrafl.data.files import DataFile, Progress
from terrafl.errors import DataError

if TYPE_CHECKING:
    import requests

__all__ = ["download"]

_CHUNK = 1 << 14
_TIMEOUT_S = 30.0  # without a byte
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416


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
    except OSError as error:  # errors of requests, too
        raise DataError(
            f"could not download {url} over https: {_reason(error)}. Try again: the download "
            f"resumes where it stopped. Or put the file at {destination}; its hash must be "
            f"{file.known_hash}. {alternative}".rstrip()
        ) from error
    except ValueError as error:
        raise DataError(
            f"{url} must be the published file with the hash {file.known_hash}; got another file. "
            "Nothing was kept; try again later."
        ) from error
    return destination


def _reason(error: OSError) -> object:
    """Return what urllib3 gives as the cause of a failed connection, or the error itself."""
    return getattr(error.args[0] if error.args else None, "reason", error)


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
