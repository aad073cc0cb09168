"""A table of the paper as Markdown: an overview, the leaders, and every column in full."""

from collections.abc import Sequence

from terrafl.paper.cells import GAINS, MARKDOWN, details, gains, overview
from terrafl.paper.readings import LAST_ROUND, LAST_TEN, READINGS, Reading
from terrafl.paper.table import Block, PaperTable
from terrafl.reports.formats import ACCURACY, DASH, listed
from terrafl.reports.names import algorithm_name
from terrafl.reports.tables import markdown_table, verdict

_SCORED = "Accuracy in percent, after the last round: the paper's / ours."
_TIMED = (
    "Seconds of training and selecting, each run alone on the machine, mean over seeds; the "
    "shortest is bold."
)


def paper_markdown(table: PaperTable, figures: str | None = None) -> str:
    """Return a table as Markdown.

    Parameters
    ----------
    table
        The table.
    figures
        Prefix of the figures' file names; ``None`` leaves the figures out.
    """
    lines = [f"## {table.title}", "", _TIMED if table.timed else _SCORED, ""]
    for blocks in table.by_algorithm.values():
        heads = [algorithm_name(blocks[0].algorithm), *(block.heading for block in blocks)]
        shown = overview(blocks, MARKDOWN, timed=table.timed)
        rows = [[label, *cells] for label, cells in shown]
        if not table.timed:
            rows.append([GAINS, *map(gains, blocks)])
        lines += [*_table(heads, rows), ""]
    if not table.timed:
        lines += _leaders([block for block in table.blocks if block.is_decided])
    for block in table.blocks:
        if block.is_compared:
            lines += _details(table, block, figures)
    return "\n".join(lines).rstrip() + "\n"


def _leaders(blocks: Sequence[Block]) -> list[str]:
    """Return a table of the best method per column, and of the methods that are not ranked."""
    if not blocks:
        return []
    beyond = [line.label for line in blocks[0].lines if line.beyond_paper]
    words = [reading.words.capitalize() for reading in READINGS]
    heads = ["Column", "Seeds", *words, *(f"{label} at these" for label in beyond)]
    rows = []
    for block in blocks:
        cells = [_leader(block, reading) for reading in READINGS]
        cells += [_unranked(block, label) for label in beyond]
        rows.append([MARKDOWN.text(block.name), str(block.num_seeds), *cells])
    opening = "The best of the paper's methods, in every column where all of them were run:"
    return [opening, "", *_table(heads, rows), ""]


def _leader(block: Block, reading: Reading) -> str:
    labels, value = reading.leaders(block)
    return f"{listed(labels)} {value:.2f}"


def _unranked(block: Block, label: str) -> str:
    method = block.line(label).method
    values = [reading.value(method) for reading in READINGS] if method else []
    return ", ".join(DASH if v is None else f"{v:.2f}" for v in values) or "not run"


def _details(table: PaperTable, block: Block, figures: str | None) -> list[str]:
    assert block.group is not None
    heads, rows = details(block, MARKDOWN)
    lines = [f"### {block.name}", "", _about(table, block), "", *_table(heads, rows)]
    lines += ["", " ".join(_sentences(block)), ""]
    if figures is not None:
        what = "Seconds of training" if table.timed else "Accuracy per round and client update"
        path = f"{figures}{table.figure_name(block)}.svg"
        lines += [f"![{what}, {block.name}]({path})", ""]
    return lines


def _about(table: PaperTable, block: Block) -> str:
    assert block.group is not None
    runs = [run.summary for method in block.group.methods for run in method.runs]
    rounds = max(summary.rounds for summary in runs)
    seeds = sorted({summary.seed for summary in runs})
    commits = sorted({summary.versions.get("commit", "unknown")[:7] for summary in runs})
    return (
        f"Profile {block.profile}: {rounds} of {block.full_rounds} rounds, "
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}, "
        f"model {block.group.problem.model}. "
        f"`terrafl reproduce {table.name} --profile {block.profile} --only {block.scenario} "
        f"--only {block.algorithm}`, commit {', '.join(commits)}."
    )


def _sentences(block: Block) -> list[str]:
    """Return the verdict on a column: the leaders, how steady they are, and what was not run."""
    assert block.group is not None
    sentences = _fastest_and_slowest(block) + (
        [verdict(block.group)] if block.group.contenders else []
    )
    if block.is_decided and LAST_TEN.leaders(block)[0] != LAST_ROUND.leaders(block)[0]:
        labels, mean = LAST_TEN.leaders(block)
        verb = "leads" if len(labels) == 1 else "lead"
        sentences.append(
            f"Over the last ten evaluations {listed(labels)} {verb}, with a mean of {mean:.1f} %."
        )
    for method in block.group.methods:
        last, equal = method.last_round, method.equal_updates
        if not method.contends and last.estimate and last.to_best:
            reached = f"{last.estimate.mean:.1f} % ({ACCURACY.gap(last.to_best)})"
            words = f"{method.name}, ours, reaches {reached}"
            if equal.estimate:
                reached = f"{equal.estimate.mean:.1f} % ({ACCURACY.gap(equal.to_best)})"
                words += f", at equal client updates {reached}"
            sentences.append(f"{words}.")
    missing = [line.label for line in block.lines if line.method is None]
    if missing:
        sentences.append(f"Not run, so not in this verdict: {', '.join(missing)}.")
    return sentences


def _fastest_and_slowest(block: Block) -> list[str]:
    took = {line.label: line.train_s for line in block.contest if line.train_s is not None}
    if len(took) < 2:
        return []
    quick, slow = min(took, key=lambda k: took[k]), max(took, key=lambda k: took[k])
    return [f"Fastest is {quick} with {took[quick]:,.0f} s, slowest {slow} with {took[slow]:,.0f}."]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return markdown_table([MARKDOWN.text(head) for head in heads], rows)
