"""Golden digests: the final model of every method, byte for byte.

They guard ``RESULTS_VERSION``. The last bits of a model depend on the processor and on torch, so
digests are kept per platform. On a platform without digests, the accuracies must agree with the
others' and two workers must give the bytes of one.

python tests/golden/test_golden.py   # writes the digests of this platform
"""

import hashlib
import json
import sys
from pathlib import Path

import pytest
import torch

from terrafl.algorithms import ALGORITHMS
from terrafl.experiments.api import configure
from terrafl.experiments.run import execute
from terrafl.provenance import versions
from terrafl.results_version import RESULTS_VERSION
from terrafl.selection import SELECTORS

FILE = Path(__file__).with_name("models.json")
COMMAND = "python tests/golden/test_golden.py"
FAILED = (
    "the bytes of {} changed: raise RESULTS_VERSION or find what changed the bytes; "
    f"regenerate with {COMMAND}"
)
# Rounding on another processor moves an accuracy by far less, a change of the method by more.
TOLERANCE = 0.01

SETTINGS = {
    "dataset": "digits",
    "clients": 12,
    "clients_per_round": 6,
    "rounds": 3,  # two in which HiCS-FL sees everyone, and one in which it clusters
    "training": {"learning_rate": 0.5, "epochs": 2, "batch_size": 16},
}
CASES = {
    **{f"{name}-fedavg": {"selector": name} for name in SELECTORS},
    **{f"terraform-{name}": {"selector": "terraform", "algorithm": name} for name in ALGORITHMS},
    "terraform-average": {"selector": "terraform", "average": {"half_life": 20}},
    "terraform-anchor": {"selector": {"name": "terraform", "anchor": True}},
    "terraform-guard": {"selector": "terraform", "guard": True},
    "random-median": {"selector": "random", "aggregation": "median"},
    # bfloat16 takes the stock training loop, the others that for small perceptrons.
    "random-bf16": {"selector": "random", "precision": "bf16"},
}

every_case = pytest.mark.parametrize("case", CASES)


def platform():
    """Return everything that a model's last bits depend on, besides terrafl."""
    capability = torch.backends.cpu.get_cpu_capability()
    known = versions()
    names = ("numpy", "scipy", "torch", "instructions")
    return ", ".join([*(f"{name} {known[name]}" for name in names), f"kernels {capability}"])


def outcome(case, folder, workers=1):
    """Run a case; return the digest of its model and its accuracy."""
    result = execute(configure(**SETTINGS, **CASES[case]), folder, workers=workers)
    return hashlib.sha256(result.folder.model.read_bytes()).hexdigest(), result.accuracy


@pytest.fixture(scope="session")
def golden():
    return json.loads(FILE.read_text())


def test_the_digests_are_those_of_this_results_version_and_of_every_method(golden):
    assert golden["results_version"] == RESULTS_VERSION, f"regenerate with {COMMAND}"
    assert golden["accuracies"].keys() == CASES.keys(), f"regenerate with {COMMAND}"


@every_case
def test_a_method_gives_its_golden_model(case, golden, tmp_path):
    digest, accuracy = outcome(case, tmp_path / "run")

    assert accuracy == pytest.approx(golden["accuracies"][case], abs=TOLERANCE), FAILED.format(case)
    if platform() in golden["digests"]:
        assert digest == golden["digests"][platform()][case], FAILED.format(case)


def test_on_another_platform_two_workers_give_the_bytes_of_one(golden, tmp_path):
    if platform() in golden["digests"]:
        assert golden["digests"][platform()].keys() == CASES.keys(), f"regenerate with {COMMAND}"
        return
    case = "terraform-fedavg"

    assert outcome(case, tmp_path / "one") == outcome(case, tmp_path / "two", workers=2)


def main(folder):
    """Write this platform's digests; those of others are kept under the same results version."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    others = kept["digests"] if kept.get("results_version") == RESULTS_VERSION else {}
    outcomes = {case: outcome(case, folder / case) for case in CASES}
    plain = {
        "command": COMMAND,
        "results_version": RESULTS_VERSION,
        "accuracies": {case: accuracy for case, (_, accuracy) in outcomes.items()},
        "digests": others | {platform(): {case: digest for case, (digest, _) in outcomes.items()}},
    }
    FILE.write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
