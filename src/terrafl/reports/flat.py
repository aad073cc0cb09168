"""A comparison as flat rows of plain values."""

from __future__ import annotations

from dataclasses import asdict

from terrafl.reports.comparison import Comparison, Group, Method
from terrafl.reports.estimates import Score

__all__ = ["Row", "rows", "score_columns"]

Row = dict[str, str | int | float | None]


def rows(comparison: Comparison) -> list[Row]:
    """Return one flat row per problem, algorithm and method, as for a data frame or CSV.

    Columns that end in ``percent`` hold percent; ``sd`` and ``gap`` are percentage points. A gap
    is the method minus the best, with the ends of its 95 % interval; ``None`` for the best.
    """
    return [_row(group, method) for group in comparison.groups for method in group.methods]


def _row(group: Group, method: Method) -> Row:
    return {
        **asdict(group.problem),
        "algorithm": group.algorithm,
        "selector": method.selector,
        "variant": method.variant,
        "num_seeds": len(method.seeds),
        "seeds": " ".join(map(str, method.seeds)),
        **score_columns("accuracy", method.last_round),
        "equal_updates_budget": group.budget,
        **score_columns("equal_updates_accuracy", method.equal_updates),
        **asdict(method.costs),
    }


def score_columns(name: str, score: Score) -> Row:
    """Return the columns of one score; their names start with the given one."""
    estimate, to_best = score.estimate, score.to_best
    percent, sd = (estimate.mean, estimate.sd) if estimate else (None, None)
    gap, low, high = (to_best.mean, to_best.low, to_best.high) if to_best else (None, None, None)
    return {
        f"{name}_percent": percent,
        f"{name}_sd": sd,
        f"{name}_rank": score.rank,
        f"{name}_gap": gap,
        f"{name}_gap_low": low,
        f"{name}_gap_high": high,
        f"{name}_within_noise": to_best.within_noise if to_best else None,
    }
