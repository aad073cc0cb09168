"""Have the features of frozen backbones ready before runs start."""

from __future__ import annotations

from collections.abc import Iterable

from terrafl.engine.features import OnImages
from terrafl.experiments.config import RunConfig

__all__ = ["compute_features"]


def compute_features(
    configs: Iterable[RunConfig],
    *,
    workers: int,
    on_images: OnImages = lambda done, total: None,
) -> None:
    """Compute the features that these runs need and that are not kept yet, by all workers.

    Parameters
    ----------
    configs
        The runs; those without a backbone need none.
    workers
        Processes that compute.
    on_images
        Hears of progress.
    """
    with_backbone = [config for config in configs if config.backbone is not None]
    if not with_backbone:
        return
    from terrafl.experiments.training import load_data

    seen: list[tuple[str, object]] = []
    for config in with_backbone:
        key = (config.dataset, config.backbone)
        if key not in seen:
            seen.append(key)
            load_data(config, workers, on_images)
