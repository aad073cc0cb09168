"""Numbers that selectors sort by, measured by the server instead of believed."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from terrafl.defences.guard.log import Log
from terrafl.records import Report, Vector
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.report import Need

__all__ = ["remeasured"]

_NORMS: tuple[Need, ...] = ("update_norm", "weight_norm", "bias_norm")
_TOLERANCE = 1e-3  # clients may measure in float32


def remeasured(
    report: Report,
    sent: Vector,
    model: Vector,
    received: Vector,
    *,
    final_layer: FinalLayer,
    needs: Collection[Need],
    log: Log,
) -> Report:
    """Return a report whose measurable fields are those of the model.

    A reported norm that is not that of the update sent with it is written down.

    Parameters
    ----------
    report
        What the client says.
    sent
        Its model as it was sent, which a norm is compared with.
    model
        Its model as it will be averaged, which is measured.
    received
        The model it started from.
    final_layer
        Where the final layer lies.
    needs
        What the selector asks of a report.
    log
        Where a false norm is written down.
    """
    for need in _NORMS:
        told = getattr(report, need)
        if told is None:
            continue
        true = final_layer.measure(sent, received, {need})[need]
        assert isinstance(true, float)
        if not math.isclose(told, true, rel_tol=_TOLERANCE, abs_tol=1e-12):
            log.note("corrected", report.client_id, f"{need} {told:.4g}; its update has {true:.4g}")
    measured = final_layer.measure(model, received, needs)
    return replace(report, **measured)  # type: ignore[arg-type]  # keyed by Need
