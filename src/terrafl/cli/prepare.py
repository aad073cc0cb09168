"""Slow first-time work, done with a progress display before runs start."""

from collections.abc import Sequence

from terrafl.cli.bars import item_progress
from terrafl.cli.progress import image_progress
from terrafl.experiments.config import RunConfig
from terrafl.experiments.warm_up import compute_features, read_data


def prepare(configs: Sequence[RunConfig], *, workers: int, quiet: bool) -> None:
    """Read slow data sets and compute the features that these runs need and no cache holds."""
    with item_progress("example", quiet=quiet) as on_data:
        read_data(configs, progress=on_data)
    with image_progress(quiet=quiet) as on_images:
        compute_features(configs, workers=workers, on_images=on_images)
