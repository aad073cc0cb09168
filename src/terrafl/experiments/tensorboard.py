"""Runs in TensorBoard: ``tensorboard --logdir`` on the folder that holds them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from terrafl.experiments.run import read_config
from terrafl.experiments.tracking import Parameter
from terrafl.runs import RunFolder

if TYPE_CHECKING:
    from terrafl.reports.looks import Pictures

FOLDER = "tensorboard"
_HEADLINES = ("client_updates", "samples_trained")


class TensorBoard:
    """Write TensorBoard's event file for one run.

    Scalars are against rounds completed, parameters and results appear under HParams, and
    figures under Images.

    Parameters
    ----------
    run
        The run's folder; the file goes into ``tensorboard`` in it and replaces an earlier one.
    """

    def __init__(self, run: Path) -> None:
        folder = run / FOLDER
        for stale in folder.glob("events.out.tfevents.*"):
            stale.unlink()
        self._writer = SummaryWriter(str(folder), flush_secs=5)
        # SummaryWriter.add_hparams would open a second run.
        self._file = self._writer._get_file_writer()  # type: ignore[no-untyped-call]
        self._step = 0
        # Its code needs no trust: the run that is tracked has imported it.
        self._metric = read_config(RunFolder(run), trust=True).task.metric

    def start(self, parameters: Mapping[str, Parameter]) -> None:
        """Write the parameters."""
        # TensorBoard finds the metrics' values among the scalars of these names.
        metrics = {f"result/{name}": 0.0 for name in (self._metric, *_HEADLINES)}
        experiment, begin, self._end = hparams(dict(parameters), metrics)  # type: ignore[no-untyped-call]
        for summary in (experiment, begin):
            self._file.add_summary(summary)

    def measure(self, step: int, values: Mapping[str, float], *, at: float) -> None:
        """Write the numbers of a round."""
        self._step = step
        for name, value in values.items():
            self._writer.add_scalar(name, value, step, walltime=at)

    def finish(self, values: Mapping[str, float], figures: Mapping[str, Pictures]) -> None:
        """Write results and figures down."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, self._step)
        for name, pictures in figures.items():
            with Image.open(io.BytesIO(pictures.png)) as image:
                pixels = np.asarray(image.convert("RGB"))
            self._writer.add_image(name, pixels, self._step, dataformats="HWC")
        self._file.add_summary(self._end)

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()
