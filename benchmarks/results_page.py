"""Write docs/results.md and its figures from the results in the repository.

python benchmarks/results_page.py
"""

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

from terrafl.experiments.reproduce.catalogue import read_table
from terrafl.experiments.reproduce.gather import gather
from terrafl.experiments.reproduce.write import write_table
from terrafl.reports.names import algorithm_name
from terrafl.reports.paper_text import paper_markdown

ROOT = Path(__file__).parent.parent
RESULTS, DOCS = ROOT / "results" / "paper", ROOT / "docs"
NAMES = ("table1", "table2", "table3", "updates", "quartiles", "time")
HEAD = """\
# Results: the paper's evaluation, and ours

Every number of ours comes from a run whose summary lies in `results/paper/`; a cell that was not
run says so. This page is written by `python benchmarks/results_page.py`; the same tables come from
`terrafl reproduce TABLE --show`.

Runs are made by

    terrafl data fetch NAME                    # or point TERRAFL_DATA at the files
    terrafl reproduce table1 --profile laptop  # or table2, table3, updates, quartiles, time

`--profile paper` is the paper's setting with three seeds. `--profile laptop` is one seed and fewer
rounds: Fashion-MNIST 60 instead of 200, CIFAR-10 100 instead of 500, UNIPEN62 20 instead of 100,
HAR 50 instead of 100; CIFAR-100 and Tiny ImageNet keep all 100. `--only` picks runs, `--budget 2h`
stops cleanly, and the same command goes on later.

A cell is the accuracy on the pooled test set after the last round, never the best on the way. The
paper words its own as the accuracy on the participating clients' data, which stands beside it. As
Terraform trains more clients in a round, every table also counts by client updates: each method is
read at its last evaluation within the smallest total that any of them used.

FEMNIST and the ImageNet weights of ResNet-18 could not be had: UNIPEN62, which is handwriting too
but not FEMNIST, and EfficientNet-Lite0 have columns of their own. *Anchored Terraform* is ours,
not the paper's: every client's newest model of the round stays in the average.
"""

OTHER = """\
# Other runs

## digits, 50 clients

`terrafl demo`.

<!-- results demo -->

## Fashion-MNIST, scenario 4, 20 of 200 rounds

`terrafl compare --scenario fmnist-4 --algorithms fedavg,fedprox --seeds 0 --rounds 20`. One seed
and a tenth of the rounds: it shows what the command does, and decides nothing.

<!-- results fmnist-4-20-rounds -->

## UCI HAR, 30 people, 15 rounds of one epoch

See [phones on 30 people](examples/har.md).

<!-- results har-15-rounds -->
"""


def main():
    tables = {name: gather(read_table(name), RESULTS) for name in NAMES}
    parts = [HEAD, _versions(), _smoke(), "## The paper's claims\n", _claims()]
    for name, table in tables.items():
        folder = DOCS / "images" / "results"
        write_table(table, folder)
        for extra in folder.glob(f"{name}.*"):
            extra.unlink()
        for extra in folder.glob(f"{name}*.png"):
            extra.unlink()
        figures = sorted(folder.glob(f"{name}-*.svg"))
        parts += [f"# {name}\n", paper_markdown(table)]
        parts += [f"![Accuracy curves, {f.stem}](images/results/{f.name})\n" for f in figures]
    (DOCS / "results.md").write_text("\n".join([*parts, OTHER]))


def _versions():
    found = Counter()
    for path in RESULTS.rglob("summary.json"):
        versions = json.loads(path.read_text())["versions"]
        commit = versions.pop("commit")
        words = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
        found[commit, words] += 1
    return "".join(
        f"- {number} runs: commit {commit[:7]} of {_date(commit)}; {words}.\n"
        for (commit, words), number in sorted(found.items())
    )


def _smoke():
    scenarios = sorted({path.parent.parent.name for path in RESULTS.glob("smoke/*/*/summary.json")})
    return (
        "Two rounds of Terraform with FedAvg (`--profile smoke`), which show that a scenario runs "
        f"and are no result, were made of {', '.join(scenarios)}.\n"
    )


def _date(commit):
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%cs", commit]
    return subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()


def _claims():
    tables = {name: gather(_papers(read_table(name)), RESULTS) for name in NAMES}
    rows = [
        ("Terraform is best in every cell of table 1", _best_cells(tables["table1"])),
        ("On Fashion-MNIST 1 to 3 Terraform equals Random", _equal_to_random(tables["table2"])),
        ("The gradient is the best signal", _best(tables["updates"], "gradient")),
        ("The interquartile range is best", _best(tables["quartiles"], "Q1 to Q3")),
        ("and fastest", _fastest(tables["time"], "Q1 to Q3")),
        ("eta = 4 is within 0.11 of eta = 2 on FEMNIST", _thresholds(tables["table3"])),
        ("No new cost", _costs(tables["table1"], tables["table2"])),
    ]
    lines = ["| the paper says | does it hold here? | we found |", "| :-- | :-- | :-- |"]
    for claim, found in rows:
        answers = {answer for answer, _ in found}
        holds = answers.pop() if len(answers) == 1 else "in part" if answers else "not run"
        lines.append(f"| {claim} | {holds} | {'; '.join(words for _, words in found)} |")
    return "\n".join([*lines, ""])


def _papers(table):
    """Return a table of the paper's methods alone, since its claims are of these."""
    return replace(table, rows=tuple(row for row in table.rows if not row.beyond_paper))


def _name(block):
    return f"{block.label}, {algorithm_name(block.algorithm)}"


def _best_cells(table):
    found, led = [], Counter()
    for block in table.blocks:
        six = [x for x in block.lines if x.method]
        own = next((line for line in six if line.label == "Terraform"), None)
        if own is None or len(six) < 6:
            continue
        words = []
        for score, when in (("last_round", "per round"), ("equal_updates", "at equal updates")):
            values = [getattr(line.method, score).estimate.mean for line in six]
            mean = getattr(own.method, score).estimate.mean
            place = 1 + sum(value > mean for value in values)
            led[when] += place == 1
            shared = " (shared)" if values.count(mean) > 1 else ""
            words.append(f"place {place} of 6{shared} {when}")
        found.append(f"{_name(block)}: {', '.join(words)}")
    if not found:
        return []
    holds = "yes" if led["per round"] == len(found) else "no"
    counts = ", ".join(f"{number} of {len(found)} {when}" for when, number in led.items())
    return [(holds, f"best in {counts}. {'; '.join(found)}")]


def _equal_to_random(table):
    found = []
    for block in table.blocks:
        ours = {line.label: line.ours for line in block.lines}
        if re.fullmatch("[123]", block.label) and ours["Random"] and ours["Terraform"]:
            gap = ours["Terraform"] - ours["Random"]
            found.append(("no" if gap else "yes", f"{_name(block)}: {gap:+.2f} points"))
    return found


def _best(table, favourite):
    found = []
    for block in table.blocks:
        if any(line.ours is None for line in block.lines):
            continue
        own = next(line for line in block.lines if line.label == favourite).method.last_round
        noise = own.to_best and own.to_best.within_noise
        holds = "yes" if own.rank == 1 else "not shown, within noise" if noise else "no"
        found.append((holds, _in_order(block)))
    return found


def _in_order(block):
    ran = sorted(block.lines, key=lambda line: -line.ours)
    return f"{_name(block)}: " + ", ".join(f"{line.label} {line.ours:.2f}" for line in ran)


def _fastest(table, favourite):
    found = []
    for block in table.blocks:
        if any(line.train_s is None for line in block.lines):
            continue
        ran = sorted(block.lines, key=lambda line: line.train_s)
        words = ", ".join(f"{line.label} {line.train_s:.0f} s" for line in ran)
        holds = "yes" if ran[0].label == favourite else "no"
        found.append((holds, f"{_name(block)}: {words}"))
    return found


def _thresholds(table):
    found = []
    for block in table.blocks:
        handwriting = block.scenario in ("femnist", "unipen62")  # the claim is of no other column
        if not handwriting or any(line.ours is None for line in block.lines):
            continue
        ours = {line.label: line.ours for line in block.lines}
        close = abs(ours["eta = 4"] - ours["eta = 2"]) <= 0.11
        found.append(("yes" if close else "no", _in_order(block)))
    return found


def _costs(*tables):
    ratios = []
    for block in (block for table in tables for block in table.blocks):
        updates = {x.label: x.method.costs.client_updates for x in block.lines if x.method}
        if {"Random", "Terraform"} <= set(updates):
            ratios.append(updates["Terraform"] / updates["Random"])
    if not ratios:
        return []
    words = (
        f"Terraform made {min(ratios):.2f} to {max(ratios):.2f} times the client updates of Random "
        f"in the same rounds ({len(ratios)} columns)"
    )
    return [("yes" if max(ratios) <= 1 else "no", words)]


if __name__ == "__main__":
    main()
