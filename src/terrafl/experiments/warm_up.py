"""The data of a run; slow data sets are read and features computed before runs start."""

from collections.abc import Iterable

from terrafl.data import Dataset, is_slow, load
from terrafl.data.files import Progress
from terrafl.experiments.config import RunConfig
from terrafl.seeds import stream
from terrafl.simulation.features import OnImages, require_weights, with_features


def load_data(
    config: RunConfig, workers: int = 1, on_images: OnImages = lambda done, total: None
) -> Dataset:
    """Load the data set, as the backbone's features if there is one."""
    if config.backbone is not None:
        require_weights(config.dataset, config.backbone)
    dataset = load(config.dataset, generator=stream(config.seed, "data"))
    if config.backbone is None:
        return dataset
    return with_features(dataset, config.backbone, workers=workers, on_images=on_images)


def read_data(
    configs: Iterable[RunConfig], *, progress: Progress = lambda name, done, total: None
) -> None:
    """Read and cache the data sets of these runs that are slow to read the first time.

    Parameters
    ----------
    configs
        The runs. Missing weights of a backbone are reported first.
    progress
        Called with the progress of reading.
    """
    configs = list(configs)
    backbones = {(c.dataset, type(c.backbone)): c.backbone for c in configs}
    for (dataset, _), backbone in backbones.items():
        if backbone is not None:
            require_weights(dataset, backbone)
    slow = {config.dataset: config for config in configs if is_slow(config.dataset)}
    for config in slow.values():
        load(config.dataset, generator=stream(config.seed, "data"), progress=progress)


def compute_features(
    configs: Iterable[RunConfig],
    *,
    workers: int,
    on_images: OnImages = lambda done, total: None,
) -> None:
    """Compute and cache the features that these runs need.

    Parameters
    ----------
    configs
        The runs; those without a backbone need no features.
    workers
        Processes that compute.
    on_images
        Called with the progress in images.
    """
    seen: list[tuple[str, object]] = []
    for config in configs:
        key = (config.dataset, config.backbone)
        if config.backbone is not None and key not in seen:
            seen.append(key)
            load_data(config, workers, on_images)
