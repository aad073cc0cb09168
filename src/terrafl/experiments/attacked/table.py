"""The table of the attack benchmark."""

from collections.abc import Sequence
from statistics import fmean

from terrafl.defences import KINDS, Kind
from terrafl.experiments.attacked.plan import METHODS, Kept
from terrafl.reports.formats import DASH, as_gap
from terrafl.reports.tables import Row

_HEADERS = {
    "attack": "Attack",
    "method": "Method",
    "accuracy": "Accuracy",
    "lost": "Lost",
    "lost_last_ten": "Lost, last ten",
    "share": "Share",
    "largest_share": "Largest share",
    "caught": "Caught",
    "falsely_caught": "(honest)",
    "bounded": "Bounded",
    "falsely_bounded": "(honest)",
}
_PERCENT = ("caught", "falsely_caught", "bounded", "falsely_bounded")


def attack_rows(kept: Sequence[Kept], methods: Sequence[str], kinds: Sequence[Kind]) -> list[Row]:
    """Return one row per attack and method; a run that was not made has no numbers.

    Accuracies and points lost are in percent, means over the seeds that were run; ``lost`` is
    against the same method and seed without an attack, after the last round and over the last
    ten evaluations. The rest is from :class:`~terrafl.experiments.attacked.evidence.Evidence`,
    parts in percent.
    """
    return [
        _row(method, kind, [run for run in kept if run.method == method])
        for kind in KINDS
        if kind in kinds
        for method in methods
    ]


def _row(method: str, kind: Kind, kept: Sequence[Kept]) -> Row:
    runs = [run for run in kept if run.kind == kind]
    row: Row = dict.fromkeys(_HEADERS)
    row |= {"attack": kind, "method": METHODS[method].label, "seeds": len(runs)}
    if not runs:
        return row
    calm = {run.seed: run for run in kept if run.kind == "none"}
    pairs = [(calm[run.seed], run) for run in runs if run.seed in calm]
    row["accuracy"] = 100 * fmean(run.accuracy for run in runs)
    if kind != "none" and pairs:
        row["lost"] = 100 * fmean(c.accuracy - r.accuracy for c, r in pairs)
        row["lost_last_ten"] = 100 * fmean(c.mean_last_ten - r.mean_last_ten for c, r in pairs)
    for name in ("share", "largest_share", *_PERCENT):
        known = [value for run in runs if (value := getattr(run.evidence, name)) is not None]
        scale = 100 if name in _PERCENT else 1
        row[name] = scale * fmean(known) if known else None
    return row


def attack_markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| " + " | ".join(_HEADERS.values()) + " |",
        "| :-- | :-- |" + " --: |" * (len(_HEADERS) - 2),
    ]
    for row in rows:
        cells = [_shown(name, row) for name in _HEADERS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _shown(name: str, row: Row) -> str:
    value = row[name]
    if isinstance(value, str):
        return value
    if value is None:
        return "not run" if name == "accuracy" else DASH
    if name in ("share", "largest_share"):
        return f"{value:.2f}×"
    if name in ("lost", "lost_last_ten"):
        return as_gap(value, None, None)
    return f"{value:.2f}" if name == "accuracy" else f"{value:.0f} %"
