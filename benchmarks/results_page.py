"""Write docs/results.md and its figures from the results in the repository.

python benchmarks/results_page.py
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from terrafl.experiments.reproduce.catalogue import read_table
from terrafl.experiments.reproduce.gather import gather
from terrafl.experiments.reproduce.write import write_figures
from terrafl.reports.claims import judge_claims
from terrafl.reports.paper_text import paper_markdown

ROOT = Path(__file__).parent.parent
RESULTS, DOCS = ROOT / "results" / "paper", ROOT / "docs"
FIGURES = DOCS / "images" / "results"
HEADINGS = {
    "table1": "Table 1: selectors by data set",
    "table2": "Table 2: selectors on Fashion-MNIST",
    "table3": "Table 3: when a round ends",
    "updates": "What clients are sorted by",
    "quartiles": "Where the cut is sought: accuracy",
    "time": "Where the cut is sought: time",
}
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
    tables = {name: gather(read_table(name), RESULTS) for name in HEADINGS}
    verdicts = tomllib.loads((ROOT / "benchmarks" / "verdicts.toml").read_text())
    parts = [HEAD, _versions(), _smoke(), "## The paper's claims\n", _claims(tables)]
    for file in FIGURES.glob("*.svg"):
        file.unlink()
    for name, table in tables.items():
        write_figures(table, FIGURES, ["svg"])
        text = paper_markdown(table, figures="images/results/")
        _require_figures(verdicts[name], text, name)
        parts += [f"# {HEADINGS[name]}\n", f"**Verdict.** {verdicts[name].strip()}\n", text]
    (DOCS / "results.md").write_text("\n".join([*parts, OTHER]))


def _require_figures(verdict, text, name):
    """Stop where a verdict quotes a figure that its table does not show."""
    for figure in re.findall(r"\d+\.\d\d\b|\d,\d{3}", verdict):
        if figure not in text:
            sys.exit(f"the verdict on {name} must quote its table; {figure} does not stand there.")


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


def _claims(tables):
    lines = ["| the paper says | does it hold here? | we found |", "| :-- | :-- | :-- |"]
    lines += [
        f"| {claim.words} | {claim.holds} | {claim.found.replace('*', chr(92) + '*')} |"
        for claim in judge_claims(tables)
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
