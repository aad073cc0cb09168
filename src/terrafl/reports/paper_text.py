"""A table of the paper as Markdown, CSV and LaTeX.

In every column the best is bold and the second underlined, in the paper's numbers and in ours:
the highest accuracy, or the shortest time where that is the result.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from terrafl.reports.comparison import Group
from terrafl.reports.estimates import Score
from terrafl.reports.formats import DASH, as_count, as_gap, as_mean_sd, as_megabytes
from terrafl.reports.names import algorithm_name
from terrafl.reports.paper import Block, Line, PaperTable, relative_gain
from terrafl.reports.verdicts import leading, verdict

__all__ = ["paper_csv", "paper_latex", "paper_markdown"]

NOT_RUN = "not run"
_MARKDOWN = ("**{}**", "<u>{}</u>")
_LATEX = (r"\textbf{{{}}}", r"\underline{{{}}}")
_SCORED = "Accuracy in percent, after the last round: the paper's / ours."
_TIMED = "Seconds of training, each run alone on the machine, mean over seeds."


def paper_markdown(table: PaperTable) -> str:
    """Return an overview of all columns, and what is known of every column that was run."""
    lines = [f"## {table.title}", ""]
    lines += [_TIMED if table.timed else _SCORED, ""]
    for algorithm in dict.fromkeys(block.algorithm for block in table.blocks):
        blocks = [block for block in table.blocks if block.algorithm == algorithm]
        heads = [
            f"{block.label}{f' [{block.profile}]' if block.profile else ''}" for block in blocks
        ]
        lines += [_row([algorithm_name(algorithm), *heads]), _row([":--", *["--:"] * len(blocks)])]
        overview = _overview(blocks, _MARKDOWN, timed=table.timed)
        lines += [_row([label, *cells]) for label, cells in overview]
        if not table.timed:
            gains = [_gains(block) for block in blocks]
            lines.append(_row(["Best over second (the paper's methods)", *gains]))
        lines.append("")
    if leaders := leading(table):
        lines += [leaders, ""]
    for block in table.blocks:
        lines += _details(table.name, block)
    return "\n".join(lines).rstrip() + "\n"


def _overview(
    blocks: Sequence[Block], styles: tuple[str, str], *, timed: bool
) -> Iterator[tuple[str, list[str]]]:
    for i, line in enumerate(blocks[0].lines):
        cells = []
        for block in blocks:
            if timed:
                cells.append(_ranked(block.lines, i, _haste, styles) or NOT_RUN)
                continue
            printed = _ranked(block.lines, i, lambda one: one.printed, styles)
            ours = _ranked(block.lines, i, lambda one: one.ours, styles)
            cells.append(f"{printed or DASH} / {ours or NOT_RUN}")
        yield line.label, cells


def _haste(line: Line) -> float | None:
    return None if line.train_s is None else -line.train_s  # higher is better, as elsewhere


def _ranked(
    lines: Sequence[Line],
    i: int,
    value: Callable[[Line], float | None],
    styles: tuple[str, str],
) -> str:
    own = value(lines[i])
    if own is None:
        return ""
    higher = {other for one in lines if (other := value(one)) is not None and other > own}
    text = f"{abs(own):.2f}"
    return styles[len(higher)].format(text) if len(higher) < 2 else text


def _gains(block: Block) -> str:
    """Return the best's gain over the second of the paper's methods: its own, and ours."""
    lines = [line for line in block.lines if not line.beyond_paper]
    all_run = all(line.ours is not None for line in lines)  # or the second may be missing
    gains = [
        relative_gain(lines, lambda line: line.printed),
        relative_gain(lines, lambda line: line.ours) if all_run else None,
    ]
    return " / ".join(f"{gain[2]:+.1f} %" if gain else DASH for gain in gains)


def _details(name: str, block: Block) -> list[str]:
    if block.group is None:
        return []
    title = f"### {block.label}, {algorithm_name(block.algorithm)}"
    seconds = any(line.train_s is not None for line in block.lines)
    heads = [
        "Method", "Paper", "Ours", "Difference", "To the best", "On participants",
        f"At {as_count(block.group.budget)} client updates", "To the best", "Client updates",
        "Samples", "Loss queries", "MB down", "MB up", *(["Seconds of training"] * seconds),
    ]  # fmt: skip
    problem = block.group.problem
    rounds = sorted({run.summary.rounds for m in block.group.methods for run in m.runs})
    seeds = sorted({seed for m in block.group.methods for seed in m.seeds})
    about = (
        f"Profile {block.profile}: {' to '.join(map(str, rounds))} rounds, "
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}, model {problem.model}. "
        f"`terrafl reproduce {name} --profile {block.profile} --only {block.scenario} "
        f"--only {block.algorithm}`, {_commits(block.group)}."
    )
    lines = [title, "", about, "", _row(heads), _row([":--", *["--:"] * (len(heads) - 1)])]
    lines += [_row([*_detail(line), *_seconds(line, seconds)]) for line in block.lines]
    return [*lines, "", verdict(block.group) + _not_run(block), ""]


def _not_run(block: Block) -> str:
    missing = [line.label for line in block.lines if line.method is None]
    return f" Not run, so not in this verdict: {', '.join(missing)}." if missing else ""


def _commits(group: Group) -> str:
    runs = [run.summary.versions for method in group.methods for run in method.runs]
    found = sorted({versions.get("commit", "unknown")[:7] for versions in runs})
    return f"commit {', '.join(found)}"


def _detail(line: Line) -> list[str]:
    printed = DASH if line.printed is None else f"{line.printed:.2f}"
    method, ours = line.method, line.ours
    if method is None or ours is None:
        return [line.label, printed, NOT_RUN, *[DASH] * 10]
    difference = None if line.printed is None else ours - line.printed
    costs = method.costs
    return [
        line.label,
        printed,
        _score(method.last_round),
        as_gap(difference, None, None),
        _to_best(method.last_round),
        f"{costs.accuracy_participating_percent:.2f}",
        _score(method.equal_updates),
        _to_best(method.equal_updates),
        as_count(costs.client_updates),
        as_count(costs.samples_trained),
        as_count(costs.loss_queries),
        as_megabytes(costs.bytes_down),
        as_megabytes(costs.bytes_up),
    ]


def _score(score: Score) -> str:
    own = score.estimate
    text = as_mean_sd(own.mean, own.sd) if own else DASH
    return _MARKDOWN[score.rank - 1].format(text) if score.rank in (1, 2) else text


def _to_best(score: Score) -> str:
    gap = score.to_best
    return as_gap(gap.mean, gap.low, gap.high) if gap else DASH


def _seconds(line: Line, wanted: bool) -> list[str]:
    return [DASH if line.train_s is None else f"{line.train_s:,.1f}"] if wanted else []


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('*)', chr(92) + '*)') for cell in cells)} |"


def paper_csv(table: PaperTable) -> str:
    """Return one line per cell with everything that is known of it, in full precision."""
    text = io.StringIO()
    rows = [_csv_row(block, line) for block in table.blocks for line in block.lines]
    fields = max(rows, key=len)
    writer = csv.DictWriter(text, list(fields), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _csv_row(block: Block, line: Line) -> dict[str, object]:
    row: dict[str, object] = {
        "column": block.label,
        "algorithm": block.algorithm,
        "method": line.label,
        "paper_percent": line.printed,
        "profile": block.profile,
    }
    if line.method is None or block.group is None:
        return row
    for name, score in (
        ("accuracy", line.method.last_round),
        ("equal_updates_accuracy", line.method.equal_updates),
    ):
        own, gap = score.estimate, score.to_best
        row |= {
            f"{name}_percent": own.mean if own else None,
            f"{name}_sd": own.sd if own else None,
            f"{name}_gap": gap.mean if gap else None,
            f"{name}_gap_low": gap.low if gap else None,
            f"{name}_gap_high": gap.high if gap else None,
        }
    row |= {"seeds": " ".join(map(str, line.method.seeds))}
    row |= {"equal_updates_budget": block.group.budget, **asdict(line.method.costs)}
    return row | {"train_s": line.train_s}


def paper_latex(table: PaperTable) -> str:
    """Return one ``tabular``, which needs no package: the paper's numbers and ours."""
    blocks_of: dict[str, list[Block]] = {}
    for block in table.blocks:
        blocks_of.setdefault(block.algorithm, []).append(block)
    first = next(iter(blocks_of.values()))
    lines = [rf"\begin{{tabular}}{{ll{'c' * len(first)}}}", r"\hline"]
    lines.append(" & ".join(["", "Methodology", *(block.label for block in first)]) + r" \\")
    for algorithm, blocks in blocks_of.items():
        lines.append(r"\hline")
        for label, cells in _overview(blocks, _LATEX, timed=table.timed):
            shown = [cell.replace(DASH, "--") for cell in cells]
            lines.append(" & ".join([algorithm_name(algorithm), label, *shown]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])
