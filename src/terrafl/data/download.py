"""Fetch one published file over https, resuming what was cut short.

Bytes gather in a ``.part`` file beside the destination; only a file whose content has proved
right gets its final name, in one step.
"""

from __future__ import annotations

import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urljoin, urlsplit

from terrafl.data.files import Progress
from terrafl.errors import DataError

__all__ = ["Fetchable", "Source", "download"]

_CHUNK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


class Fetchable(Protocol):
    """A file that can be recognised when it arrives."""

    @property
    def name(self) -> str:
        """Its official name."""
        ...

    @property
    def limit(self) -> int:
        """Most bytes that it may take."""
        ...

    @property
    def proof(self) -> str:
        """How a person recognises it."""
        ...

    def verify(self, path: Path) -> None:
        """Raise unless this is it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place that publishes files, over https only.

    Parameters
    ----------
    base_url
        What a file's name is appended to.
    context
        The certificates to trust; ``None`` for the system's.
    timeout_s
        Seconds without a byte after which the source counts as silent.
    """

    base_url: str
    context: ssl.SSLContext | None = None
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        _require_https(self.base_url)

    def open(self, name: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Ask for a file."""
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self.context), _HttpsRedirects()
        )
        request = urllib.request.Request(self.url(name), headers=dict(headers))  # noqa: S310  # https alone, checked above
        response = opener.open(request, timeout=self.timeout_s)
        assert isinstance(response, http.client.HTTPResponse)  # what the https handler returns
        return response

    def url(self, name: str) -> str:
        """Return the address of a file."""
        return urljoin(self.base_url, name)


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follow redirections to https alone."""

    def redirect_request(  # noqa: PLR0917  # as urllib calls it
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            _require_https(newurl)
        except DataError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _require_https(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise DataError(f"data must be fetched over https; got {url}. Use an https address.")


def download(
    file: Fetchable,
    destination: Path,
    source: Source,
    progress: Progress | None = None,
    *,
    besides: str = "",
) -> Path:
    """Fetch a file to a path, and return the path.

    Parameters
    ----------
    file
        What it must contain.
    destination
        The path it gets; whatever is there is replaced once the new file is whole and right.
    source
        Where it is published.
    progress
        Told about every piece that arrives.
    besides
        What else to say to somebody who has to do without the source: whole sentences.
    """
    part = destination.with_name(destination.name + ".part")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        if not _is_whole(file, part):
            _transfer(file, part, source, progress)
            _confirm(file, part, source)
        os.replace(part, destination)
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"could not fetch {source.url(file.name)}: {error}. Try again later, or put the file "
            f"at {destination} yourself; {file.proof}. {besides}".rstrip()
        ) from error
    return destination


def _confirm(file: Fetchable, part: Path, source: Source) -> None:
    try:
        file.verify(part)
    except DataError as error:
        part.unlink()
        raise DataError(
            f"{source.url(file.name)} is not the published file: {error} Nothing was kept."
        ) from error


def _is_whole(file: Fetchable, part: Path) -> bool:
    try:
        file.verify(part)
    except DataError:
        return False
    return True


def _transfer(file: Fetchable, part: Path, source: Source, progress: Progress | None) -> None:
    """Add to the partial file what it lacks; start again where the source cannot resume."""
    here = part.stat().st_size if part.exists() else 0
    try:
        response = source.open(file.name, {"Range": f"bytes={here}-"} if here else {})
    except urllib.error.HTTPError as error:
        with error:
            if error.code != _RANGE_NOT_SATISFIABLE or not here:
                raise
        part.unlink()  # as long as the file or longer, and not the file
        _transfer(file, part, source, progress)
        return
    with response:
        answer = response.headers.get("Content-Range", "")
        resumed = response.status == http.client.PARTIAL_CONTENT
        if resumed and not answer.startswith(f"bytes {here}-"):
            raise DataError(f"{source.url(file.name)} must send bytes from {here}; got {answer!r}.")
        _receive(file, part, response, here if resumed else 0, progress)


def _receive(
    file: Fetchable,
    part: Path,
    response: http.client.HTTPResponse,
    here: int,
    progress: Progress | None,
) -> None:
    total = None if response.length is None else here + response.length
    if total is not None and total > file.limit:
        raise _too_long(file, part)
    with part.open("ab" if here else "wb") as stream:
        while piece := response.read(_CHUNK):
            here += len(piece)
            if here > file.limit:
                raise _too_long(file, part)
            stream.write(piece)
            if progress is not None:
                progress(file.name, here, total)
        stream.flush()
        os.fsync(stream.fileno())
    if total is not None and here < total:
        raise DataError(
            f"{file.name} was cut short at {here} of {total} bytes. Fetch it again: "
            "it goes on where it stopped."
        )


def _too_long(file: Fetchable, part: Path) -> DataError:
    part.unlink(missing_ok=True)
    return DataError(
        f"{file.name} must take at most {file.limit} bytes; the source offers more. "
        "Nothing was kept."
    )
