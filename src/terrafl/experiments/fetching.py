"""Fetch data sets and pretrained weights by name."""

from pathlib import Path

from terrafl import data
from terrafl.data.files import DataFile, Progress
from terrafl.errors import DataError, require_known
from terrafl.folders import home
from terrafl.models import BACKBONES


def fetch(
    name: str,
    root: Path | None = None,
    progress: Progress | None = None,
    *,
    base_url: str = "",
) -> list[Path]:
    """Download the missing and damaged files of a data set, or the weights of a backbone.

    Parameters
    ----------
    name
        A data set or a backbone.
    root, progress, base_url
        As for :func:`terrafl.data.fetch`; weights go into the subfolder ``weights``.
    """
    require_known(name, (*data.available(), *BACKBONES), "the name must be one of")
    if name not in BACKBONES:
        return data.fetch(name, root, progress, base_url=base_url)
    weights = BACKBONES[name].weights
    try:
        return [weights.locate(root)]
    except DataError:
        if not weights.base_url:
            raise
    from terrafl.data.download import download

    file = DataFile(name=weights.name, size=weights.size, sha256=weights.sha256)
    destination = home(root) / "weights" / weights.name
    return [download(file, destination, base_url or weights.base_url, progress)]
