"""Numbers that selectors sort by, measured by the server instead of believed."""

from __future__ import annotations

import math
from collections.abc import Collection

from terrafl.defences.guard.log import Log
from terrafl.records import Report, Vector
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.needs import Need, known, measure

_TOLERANCE = 1e-3  # clients may measure in float32


def remeasured(
    report: Report,
    sent: Vector,
    model: Vector,
    received: Vector,
    *,
    final_layer: FinalLayer | None,
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
        Where the final layer lies; ``None`` where it is not known.
    needs
        What the selector asks of a report.
    log
        Where a false norm is written down.
    """
    told_of = {name: report.value(name) for name, m in known().items() if m.is_checkable}
    for need, true in measure(
        [name for name, told in told_of.items() if told is not None], sent, received, final_layer
    ).items():
        told = told_of[need]
        assert told is not None
        assert true is not None
        if not math.isclose(told, true, rel_tol=_TOLERANCE, abs_tol=1e-12):
            log.note("corrected", report.client_id, f"{need} {told:.4g}; its update has {true:.4g}")
    return report.with_values(measure(needs, model, received, final_layer))
