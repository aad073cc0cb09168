"""A selector that asks everybody for a loss between its iterations."""

from dataclasses import dataclass
from typing import ClassVar

from terrafl.selection import Cohort, Selector


@dataclass(slots=True, kw_only=True)
class Asking(Selector):
    name: ClassVar[str] = "asking"

    def draw(self, context):
        return Cohort.of(context.population.names(context.draw_uniformly()))

    def refine(self, reports, context):
        if context.iteration > 2:
            return Cohort()
        ids = [report.client_id for report in reports]
        losses = context.ask(ids, "loss")
        return Cohort.of([ids[i] for i in losses.argsort()[-max(1, len(ids) // 2) :]])
