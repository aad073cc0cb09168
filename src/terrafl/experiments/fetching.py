"""Fetch by its name what experiments need and terrafl does not carry: data sets, and weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from terrafl import data
from terrafl.data.files import Progress
from terrafl.errors import ConfigurationError, DataError
from terrafl.models import BACKBONES
from terrafl.settings import suggest

if TYPE_CHECKING:
    from terrafl.data.download import Source
    from terrafl.models.backbones import WeightsFile

__all__ = ["fetch"]


def fetch(
    name: str,
    root: Path | None = None,
    progress: Progress | None = None,
    *,
    source: Source | None = None,
) -> list[Path]:
    """Download what is missing or damaged of a data set, or a backbone's weights.

    Parameters
    ----------
    name
        A data set or a backbone.
    root, progress, source
        As for :func:`terrafl.data.fetch`; weights go into ``weights`` in the root.
    """
    known = (*data.available(), *BACKBONES)
    if name not in known:
        raise ConfigurationError(
            f"what to fetch must be one of {', '.join(known)}; got {name!r}{suggest(name, known)}"
        )
    if name in BACKBONES:
        return [_fetch_weights(BACKBONES[name].weights, root, progress, source)]
    return data.fetch(name, root, progress, source=source)


def _fetch_weights(
    weights: WeightsFile, root: Path | None, progress: Progress | None, source: Source | None
) -> Path:
    try:
        return weights.locate(root)
    except DataError:
        if not weights.base_url:
            raise
    from terrafl.data.download import Source, download

    destination = weights.folders(root)[0] / weights.name
    return download(weights, destination, source or Source(base_url=weights.base_url), progress)
