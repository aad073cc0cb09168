"""Pretrained weights: published files, known by their checksum, looked for on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING

from terrafl.errors import DataError
from terrafl.folders import chosen, home, user_cache

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["WeightsFile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsFile:
    """A published file of weights.

    Parameters
    ----------
    name
        The file's official name.
    size
        Its length in bytes.
    sha256
        Its SHA-256, in hexadecimal.
    remedy
        How to get it, in one sentence; ``{home}`` stands for the user's folder.
    base_url
        Where it is published, over https; empty where it is not.
    package
        A Python package that carries it in ``models``, if one does; it is not imported.
    """

    name: str
    size: int
    sha256: str
    remedy: str
    base_url: str = ""
    package: str = ""

    @property
    def limit(self) -> int:
        """Most bytes that it may take."""
        return self.size

    @property
    def proof(self) -> str:
        """How to recognise the right file."""
        return f"its sha256 must be {self.sha256}"

    def folders(self, root: Path | None) -> tuple[Path, ...]:
        """Return where it is looked for: ``weights`` in the user's folders, then the package.

        The first is where it is fetched to.
        """
        given = chosen(root)
        folders = [given / "weights", given] if given else []
        if root is None:
            folders.append(user_cache() / "weights")
            found = importlib.util.find_spec(self.package) if self.package else None
            places = found.submodule_search_locations if found else None
            folders += [Path(place) / "models" for place in places or ()]
        return tuple(folders)

    def load(self, root: Path | None = None) -> dict[str, Tensor]:
        """Return the tensors by name, once the file has proved to be the right one.

        Parameters
        ----------
        root
            Look here and nowhere else; ``None`` for ``$TERRAFL_DATA``, the user's cache and the
            package.
        """
        import torch

        path = self.locate(root)
        try:
            # A pickle, as torch writes them; weights_only unpickles tensors and nothing else.
            return dict(torch.load(path, map_location="cpu", weights_only=True))
        except (UnpicklingError, RuntimeError, TypeError, ValueError) as error:
            raise DataError(f"{path} must hold tensors only; got: {error}.") from error

    def locate(self, root: Path | None = None) -> Path:
        """Return where the file is, once it has proved to be the right one."""
        folders, remedy = self.folders(root), self.remedy.format(home=home(root))
        path = next((f / self.name for f in folders if (f / self.name).is_file()), None)
        if path is None:
            places = ", ".join(map(str, folders))
            raise DataError(
                f"the weights {self.name} are missing; looked for in {places}. {remedy}"
            )
        try:
            self.verify(path)
        except DataError as error:
            raise DataError(f"{error} Delete it. {remedy}") from error
        return path

    def verify(self, path: Path) -> None:
        """Raise unless the file at this path is the right one."""
        try:
            with path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                right = size == self.size
                digest = hashlib.file_digest(stream, "sha256").hexdigest() if right else ""
        except OSError as error:
            raise DataError(f"{path} must be readable; got: {error}.") from error
        if digest != self.sha256:
            raise DataError(
                f"{path} must have {self.size} bytes and the sha256 {self.sha256}; "
                f"got {size} bytes and {digest or 'another'}."
            )
