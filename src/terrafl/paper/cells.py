"""The cells of a table of the paper, formatted for Markdown or LaTeX.

In every column where all of the paper's methods were run, the best of them is bold and the second
underlined: by the highest accuracy, or by the shortest time in a table of times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from terrafl.paper.table import Block, Line
from terrafl.reports.estimates import Score
from terrafl.reports.formats import ACCURACY, DASH, as_count, as_gap, as_mean_sd, as_megabytes
from terrafl.reports.tables import MARKDOWN as TABLES
from terrafl.reports.tables import Style

NOT_RUN = "not run"
GAINS = "Best over second (the paper's methods)"


MARKDOWN = replace(TABLES, text=lambda text: text.replace("*", r"\*"))


def overview(
    blocks: Sequence[Block], style: Style, *, timed: bool
) -> Iterator[tuple[str, list[str]]]:
    """Yield every method's label and cells: the paper's number and ours, or our seconds."""
    for i, line in enumerate(blocks[0].lines):
        cells = []
        for block in blocks:
            entry = block.lines[i]
            if timed:
                cells.append(_training_time(block, entry, style))
            else:
                cells.append(f"{_printed(block, entry, style)} / {_ours(block, entry, style)}")
        yield style.text(line.label), cells


def _printed(block: Block, line: Line, style: Style) -> str:
    if line.printed is None:
        return style.text(DASH)
    above = sum(one.printed is not None and one.printed > line.printed for one in block.lines)
    return style.mark(f"{line.printed:.2f}", above + 1)


def _ours(block: Block, line: Line, style: Style) -> str:
    return NOT_RUN if line.method is None else _score(block, line.method.last_round, style)


def _training_time(block: Block, line: Line, style: Style) -> str:
    if line.train_s is None:
        return NOT_RUN
    quicker = sum(one.train_s is not None and one.train_s < line.train_s for one in block.contest)
    contends = block.is_decided and not line.beyond_paper
    return style.mark(f"{line.train_s:.2f}", quicker + 1 if contends else None)


def _score(block: Block, score: Score, style: Style) -> str:
    return style.mark(ACCURACY.mean(score.estimate), score.rank if block.is_decided else None)


def gains(block: Block) -> str:
    """Return the best of the paper's methods and its gain over the second: in the paper / ours."""
    return " / ".join(f"{gain[0]} {gain[1]:+.1f} %" if gain else DASH for gain in block.gains)


def details(block: Block, style: Style) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of a column's full table."""
    assert block.group is not None
    seconds = any(line.train_s is not None for line in block.lines)
    budget = as_count(block.group.budget)
    heads = [
        "Method", "Paper", "Ours", "Difference", "To the best", f"At {budget} client updates",
        "To the best there", "Client updates", "Last ten", "On participants",
        f"At {as_count(block.group.sample_budget)} samples", "Samples", "Loss queries", "MB down",
        "MB up", *(["Seconds of training"] * seconds),
    ]  # fmt: skip
    rows = [
        [*_detail(block, line, style), *([_seconds(line, style)] * seconds)] for line in block.lines
    ]
    return [style.text(head) for head in heads], rows


def _detail(block: Block, line: Line, style: Style) -> list[str]:
    printed = DASH if line.printed is None else f"{line.printed:.2f}"
    method, ours = line.method, line.ours
    if method is None or ours is None:
        return [style.text(text) for text in (line.label, printed, NOT_RUN, *[DASH] * 12)]
    difference = None if line.printed is None else ours - line.printed
    costs = method.costs
    return [
        style.text(line.label),
        style.text(printed),
        _score(block, method.last_round, style),
        style.text(as_gap(difference, None, None)),
        style.text(ACCURACY.gap(method.last_round.to_best)),
        _score(block, method.equal_updates, style),
        style.text(ACCURACY.gap(method.equal_updates.to_best)),
        as_count(costs.client_updates),
        f"{costs.mean_last_ten_percent:.2f}",
        f"{costs.accuracy_participating_percent:.2f}",
        style.text(as_mean_sd(method.equal_samples_percent)),
        as_count(costs.samples_trained),
        as_count(costs.loss_queries),
        as_megabytes(costs.bytes_down),
        as_megabytes(costs.bytes_up),
    ]


def _seconds(line: Line, style: Style) -> str:
    return style.text(DASH if line.train_s is None else f"{line.train_s:,.1f}")
