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
from terrafl.folders import chosen, user_cache

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
        How to get it, in one sentence that ends with where to put it.
    package
        A Python package that carries it in ``models``, if one does; it is not imported.
    """

    name: str
    size: int
    sha256: str
    remedy: str
    package: str = ""

    def folders(self, root: Path | None) -> tuple[Path, ...]:
        """Return where it is looked for: ``weights`` in the user's folders, then the package."""
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

        path = self._find(root)
        self._require_right(path)
        try:
            # A pickle, as torch writes them; weights_only unpickles tensors and nothing else.
            return dict(torch.load(path, map_location="cpu", weights_only=True))
        except (UnpicklingError, RuntimeError, TypeError, ValueError) as error:
            raise DataError(f"{path} must hold tensors only; got: {error}.") from error

    def _find(self, root: Path | None) -> Path:
        candidates = [folder / self.name for folder in self.folders(root)]
        for path in candidates:
            if path.is_file():
                return path
        places = ", ".join(str(path.parent) for path in candidates)
        raise DataError(
            f"the weights {self.name} are missing; looked for in {places}. {self.remedy}"
        )

    def _require_right(self, path: Path) -> None:
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
                f"got {size} bytes and {digest or 'another'}. Delete it. {self.remedy}"
            )
