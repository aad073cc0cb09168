"""The first defence: every update is checked before anything uses it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from terrafl.defences.protocol import Defence, Inspected, Iteration
from terrafl.records import Refusal, Report, Update, Vector
from terrafl.runs import events
from terrafl.selection.needs import shapes
from terrafl.selection.report import judge


@dataclass(frozen=True, slots=True)
class Intake(Defence):
    """Drop updates that are not finite or whose reports are invalid; weigh the others.

    A client drawn $d$ times weighs $d |D^k|$, or $d$ where the selector averages plainly, or its
    given weight.
    """

    def inspect(self, iteration: Iteration, updates: Sequence[Update]) -> Inspected:
        """Check the updates of an iteration; record how far each accepted one moved."""
        finite = {u.client_id: u for u in updates if _is_finite(u.vector)}
        damaged = [
            Refusal(u.client_id, "model: must be finite, and is not")
            for u in updates
            if u.client_id not in finite
        ]
        accepted, refused = judge(
            [update.report for update in finite.values()],
            cohort=iteration.cohort.clients,
            round=iteration.round,
            iteration=iteration.iteration,
            needs=iteration.needs,
            shapes=shapes(iteration.final_layer),
        )
        cohort = iteration.cohort
        draws = dict(zip(cohort.clients, cohort.draws, strict=True))
        given = dict(zip(cohort.clients, cohort.weights, strict=False))
        by_size = iteration.averaging == "size"

        def weight(report: Report) -> float:
            factor = report.num_examples if by_size else 1
            return given.get(report.client_id, float(draws[report.client_id] * factor))

        weighed = [
            replace(finite[r.client_id], draws=draws[r.client_id], weight=weight(r))
            for r in accepted
        ]
        moved = (_moved(iteration, weighed),) if weighed else ()
        return Inspected(weighed, [*damaged, *refused], moved)


def _moved(iteration: Iteration, updates: Sequence[Update]) -> events.Updates:
    layer, received = iteration.final_layer, iteration.received
    return events.Updates(
        round=iteration.round,
        iteration=iteration.iteration,
        clients=[update.client_id for update in updates],
        update_norm=None
        if layer is None
        else [layer.update_norm(update.vector, received) for update in updates],
    )


def _is_finite(vector: Vector) -> bool:
    # NaN and infinity both show in the extremes; nothing the size of the model is allocated.
    return not len(vector) or bool(np.isfinite(vector.min()) and np.isfinite(vector.max()))
