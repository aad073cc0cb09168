"""The paper's claims, judged by our runs, for the page of results.

Only what was run counts: an answer from one seed says so, and what was not run is named.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from terrafl.paper.readings import EQUAL_UPDATES, LAST_ROUND, READINGS, Reading
from terrafl.paper.table import Block, Line, PaperTable
from terrafl.reports.estimates import difference
from terrafl.reports.formats import listed


@dataclass(frozen=True, slots=True)
class Place:
    """A method's rank among the paper's methods; equal ones share the better rank."""

    rank: int
    shared: bool

    def __str__(self) -> str:
        """Return the rank as text.

        Examples
        --------
        >>> str(Place(3, shared=False)), str(Place(2, shared=True))
        ('3', '2 (shared)')
        """
        return f"{self.rank}{' (shared)' if self.shared else ''}"


def place(block: Block, label: str, reading: Reading) -> Place:
    """Return the rank of one of the paper's methods, in a column where all of them were run."""
    values = reading.by_method(block)
    # A method that was not evaluated by then is ranked behind all that were.
    ranks = [values.get(line.label, -math.inf) for line in block.contest]
    value = values.get(label, -math.inf)
    return Place(1 + sum(one > value for one in ranks), shared=ranks.count(value) > 1)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, whether it holds in our runs, and the numbers."""

    words: str
    holds: str = "not run"
    evidence: str = ""


def judge_claims(tables: Mapping[str, PaperTable]) -> list[Claim]:
    """Judge the claims of the paper's evaluation by our runs."""
    first, signals, ranges = tables["table1"], tables["updates"], tables["quartiles"]
    return [
        _best_everywhere(first),
        _equal_to_random(tables["table2"]),
        _extreme("The gradient is the best signal", signals, "gradient", sign=1),
        _extreme("The interquartile range is the best to cut in", ranges, "Q1 to Q3", sign=1),
        _extreme("The range Q3 to 1 is the poorest", ranges, "Q3 to 1", sign=-1),
        _fastest(tables["time"]),
        _thresholds(tables["table3"]),
        _costs(first, tables["table2"]),
    ]


def _best_everywhere(table: PaperTable) -> Claim:
    words = "Terraform is best in every cell of table 1"
    cells = [b for b in table.blocks if any(line.printed is not None for line in b.lines)]
    run = [block for block in cells if block.is_decided]
    if not run:
        return Claim(words)
    led = [sum(place(b, "Terraform", r).rank == 1 for b in run) for r in READINGS]
    counts = ", ".join(f"{n} {r.words}" for n, r in zip(led, READINGS, strict=True))
    evidence = f"{len(run)} of its {len(cells)} cells were run; best in {counts}"
    return Claim(words, f"in {led[0]} of the {len(run)} cells that were run", evidence)


def terraform_ranks(table: PaperTable) -> list[tuple[str, list[str]]]:
    """Return Terraform's rank by every reading, for every column with all of the methods run."""
    return [
        (
            block.name + _seeds(block),
            [f"{place(block, 'Terraform', r)} of {len(block.contest)}" for r in READINGS],
        )
        for block in table.blocks
        if block.is_decided
    ]


def _equal_to_random(table: PaperTable) -> Claim:
    words = "On Fashion-MNIST 1 to 3, with 5 clients a round, Terraform equals Random"
    gaps = {}
    for block in table.blocks:
        random, terraform = block.line("Random").ours, block.line("Terraform").ours
        few = block.scenario in ("fmnist-1", "fmnist-2", "fmnist-3")
        if few and random is not None and terraform is not None:
            gaps[block.name + _seeds(block)] = terraform - random
    if not gaps:
        return Claim(words)
    evidence = "; ".join(f"{name}: {gap:+.2f} points" for name, gap in gaps.items())
    most = max(map(abs, gaps.values()))
    return Claim(words, f"to within {most:.2f} points" if most else "yes", evidence)


def _extreme(words: str, table: PaperTable, label: str, *, sign: int) -> Claim:
    """Judge whether a row is the best (sign 1) or the poorest (sign -1) after the last round."""
    answers, evidence = [], []
    for block in table.blocks:
        if block.is_decided:
            answers.append(_answer(block, label, sign))
            evidence.append(f"{block.name}{_seeds(block)}: {_in_order(block, LAST_ROUND)}")
            evidence.append(f"{EQUAL_UPDATES.words} {_in_order(block, EQUAL_UPDATES)}")
    return _claim(words, dict.fromkeys(answers), [*evidence, *_missing(table)])


def _answer(block: Block, label: str, sign: int) -> str:
    claimed, *rivals = sorted(block.contest, key=lambda line: line.label != label)
    gaps = [difference(_by_seed(claimed), _by_seed(rival)) for rival in rivals]
    ahead = all(gap is not None and sign * gap.mean > 0 for gap in gaps)
    if block.num_seeds == 1:
        return ("yes" if ahead else "no") + _by_one_seed(block)
    if any(gap is None or gap.within_noise is None for gap in gaps):
        return "not shown, too few common seeds"
    clear = [gap for gap in gaps if gap is not None and gap.within_noise is False]
    if ahead and len(clear) == len(gaps):
        return "yes"
    return "no" if any(sign * gap.mean < 0 for gap in clear) else "not shown, within noise"


def _fastest(table: PaperTable) -> Claim:
    words = "The interquartile range is the fastest to train with, the whole range the slowest"
    answers, evidence = [], []
    for block in table.blocks:
        ranges = [line for line in block.contest if line.label != "Q3 to 1"]  # not in its figure
        took = {line.label: line.train_s for line in ranges if line.train_s is not None}
        if len(took) < len(ranges):
            continue
        order = sorted(took, key=lambda label: took[label])
        true = (order[0] == "Q1 to Q3") + (order[-1] == "0 to 1")
        answers.append(("no", "in part", "yes")[true] + _by_one_seed(block))
        shown = ", ".join(f"{label} {took[label]:.0f} s" for label in order)
        evidence.append(f"{block.name}{_seeds(block)}: {shown}")
    return _claim(words, dict.fromkeys(answers), [*evidence, *_missing(table)])


def _thresholds(table: PaperTable) -> Claim:
    words = "On FEMNIST eta = 4 is only 0.11 below eta = 2 (0.09 by its own table)"
    answers, evidence = [], []
    for block in table.blocks:
        # The claim is about FEMNIST only; UNIPEN62 replaces it.
        if block.scenario in ("femnist", "unipen62") and block.is_decided:
            ours = {line.label: line.ours or 0.0 for line in block.contest}
            close = ours["eta = 2"] - ours["eta = 4"] <= 0.11
            answers.append(("yes" if close else "no") + _by_one_seed(block))
            evidence.append(f"{block.name}{_seeds(block)}: {_in_order(block, LAST_ROUND)}")
    return _claim(words, answers, evidence)


def _costs(*tables: PaperTable) -> Claim:
    words = "Terraform brings no new cost"
    ratios = []
    for block in (block for table in tables for block in table.blocks):
        random, terraform = block.line("Random").method, block.line("Terraform").method
        if random and terraform:
            ratios.append(terraform.costs.client_updates / random.costs.client_updates)
    if not ratios:
        return Claim(words)
    evidence = (
        f"it made {min(ratios):.2f} to {max(ratios):.2f} times the client updates of Random in the "
        f"same rounds ({len(ratios)} column{'s' * (len(ratios) != 1)})"
    )
    return Claim(words, "yes" if max(ratios) <= 1 else "no", evidence)


def _claim(words: str, answers: Iterable[str], evidence: Sequence[str]) -> Claim:
    holds = list(answers)
    return Claim(words, listed(holds), "; ".join(evidence)) if holds else Claim(words)


def _by_seed(line: Line) -> Mapping[int, float]:
    assert line.method is not None
    return line.method.last_round.by_seed


def _in_order(block: Block, reading: Reading) -> str:
    ordered = sorted(reading.by_method(block).items(), key=lambda pair: -pair[1])
    return ", ".join(f"{label} {value:.2f}" for label, value in ordered)


def _seeds(block: Block) -> str:
    return " (one seed)" if block.num_seeds == 1 else ""


def _by_one_seed(block: Block) -> str:
    return ", by one seed" if block.num_seeds == 1 else ""


def _missing(table: PaperTable) -> list[str]:
    names = [block.name for block in table.blocks if not block.is_decided]
    return [f"not run, or only in part: {listed(names)}"] if names else []
