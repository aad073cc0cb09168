"""Published files of pretrained weights, verified by their checksum."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING

from terrafl.errors import DataError
from terrafl.folders import home, require_sha256, search_folders

if TYPE_CHECKING:
    from torch import Tensor


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
        Where it is published, over https; empty if it is not.
    package
        A Python package that has it in ``models``, if there is one; it is not imported.
    """

    name: str
    size: int
    sha256: str
    remedy: str
    base_url: str = ""
    package: str = ""

    def folders(self, root: Path | None) -> tuple[Path, ...]:
        """Return where it is searched: the user's folders, ``weights`` in them, the package."""
        spec = importlib.util.find_spec(self.package) if self.package else None
        places = spec.submodule_search_locations if spec else None
        models = [Path(place) / "models" for place in places or ()]
        return search_folders(root, ("weights",), models)

    def load(self, root: Path | None = None) -> dict[str, Tensor]:
        """Return the tensors by name, after verifying the file.

        Parameters
        ----------
        root
            The only folder to search; ``None`` for ``$TERRAFL_DATA``, the user's cache and the
            package.
        """
        import torch

        path = self.locate(root)
        try:
            # torch writes pickles; weights_only unpickles nothing but tensors.
            return dict(torch.load(path, map_location="cpu", weights_only=True))
        except (UnpicklingError, RuntimeError, TypeError, ValueError) as error:
            raise DataError(f"{path} must hold tensors only; got: {error}.") from error

    def locate(self, root: Path | None = None) -> Path:
        """Return the file's path, after verifying it."""
        folders, remedy = self.folders(root), self.remedy.format(home=home(root))
        path = next((f / self.name for f in folders if (f / self.name).is_file()), None)
        if path is None:
            places = ", ".join(map(str, folders))
            raise DataError(f"the weights {self.name} are missing; searched in {places}. {remedy}")
        try:
            require_sha256(path, self.sha256)
        except DataError as error:
            raise DataError(f"{error} Delete it. {remedy}") from error
        return path
