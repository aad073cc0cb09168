"""A user's selector on Flower: measurements of its own, clients kept, given weights."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from flower_here import events, federation, local_grid, model
from registered import registered

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.serverapp.strategy import FedAdam, FedAvg

from terrafl.errors import ConfigurationError
from terrafl.flower import ClientSelection
from terrafl.selection import Cohort, Measurement, Selector

pytestmark = pytest.mark.usefixtures("flower")

MEASUREMENTS = (
    Measurement(
        name="model_norm",
        source="server",
        function=lambda model, received, layer: np.linalg.norm(model - received),
    ),
    Measurement(
        name="cubed_loss", source="client", function=lambda loss: loss**3, metric="train_cubed"
    ),
)


@dataclass
class Curious(Selector):
    """Take everybody; keep as the test says, and remember the reports."""

    name: ClassVar[str] = "curious"
    needs: ClassVar = frozenset({"model_norm", "cubed_loss"})

    first: Cohort = field(default_factory=lambda: Cohort.of("012"))
    kept: Cohort | None = None
    heard: list = field(default_factory=list, init=False)

    def draw(self, context):
        return self.first

    def keep(self, reports, context):
        return self.kept

    def refine(self, reports, context):
        self.heard += reports
        return Cohort()


def started(selector, strategy, nodes, **options):
    chosen = ClientSelection(strategy, selector, clients_per_round=3, guard=None, **options)
    with registered(*MEASUREMENTS):
        return chosen.start(local_grid(nodes()), model(), num_rounds=1, timeout=5)


def three():
    return federation(3)


def test_the_server_measures_and_the_client_tells_under_the_name_of_the_metric():
    selector = Curious()

    with registered(*MEASUREMENTS):  # the clients' process registers, too
        started(selector, FedAvg(), three)

    assert [report.client_id for report in selector.heard] == ["0", "1", "2"]
    for number, report in enumerate(selector.heard):
        own = {
            k: np.random.default_rng(number).normal(number, 1.0, size=a.numpy().shape)
            for k, a in model().items()
        }
        moved = [0.5 * (own[k] - a.numpy()) for k, a in model().items()]
        exact = np.sqrt(sum(np.square(part).sum() for part in moved))
        losses = [np.abs(part).mean() for part in moved]
        assert report.value("model_norm") == pytest.approx(exact, rel=1e-5)
        assert report.value("cubed_loss") == pytest.approx(np.mean(np.power(losses, 3)), rel=1e-5)


def test_a_client_that_does_not_tell_is_refused(tmp_path):
    def silent(content, config):
        del content["metrics"]["train_cubed"]

    started(Curious(), FedAvg(), lambda: federation(3, spoil=silent), out=tmp_path)

    assert {e["reason"] for e in events(tmp_path, "refused")} == {"cubed_loss is missing"}


def test_clients_are_kept_after_the_reply_and_their_upload_is_counted(tmp_path):
    selector = Curious(kept=Cohort.of("02"))

    result = started(selector, FedAvg(), three, out=tmp_path)

    assert [report.client_id for report in selector.heard] == ["0", "2"]
    assert [e["clients"] for e in events(tmp_path, "updates")] == [["0", "2"]]
    alone = started(Curious(first=Cohort.of("02")), FedAvg(), three)
    for key, array in result.arrays.items():
        np.testing.assert_array_equal(array.numpy(), alone.arrays[key].numpy())
    (evaluation,) = events(tmp_path, "evaluation")
    model_bytes = sum(array.numpy().nbytes for array in model().values())
    assert evaluation["bytes_up"] == 3 * (model_bytes + 8 + 16)  # size, norm and loss
    assert evaluation["client_updates"] == 3


@pytest.mark.parametrize("method", ["first", "kept"])
def test_given_weights_are_refused_with_the_name_of_the_strategy(method):
    given = Cohort.weighted({"0": 1.0, "1": 2.0, "2": 3.0})

    with pytest.raises(ConfigurationError, match=r"with a Flower strategy, .*FedAdam"):
        started(Curious(**{method: given}), FedAdam(), three)


def test_an_unknown_need_is_named_before_anybody_trains():
    class Odd(Curious):
        needs = frozenset({"los"})

    with pytest.raises(ConfigurationError, match="got 'los'"):
        started(Odd(), FedAvg(), three)


@dataclass
class Endless(Selector):
    """Ask for the same clients again, for as many iterations as the test says."""

    name: ClassVar[str] = "endless"

    iterations: int = 60

    def draw(self, context):
        return Cohort.of("012")

    def refine(self, reports, context):
        return Cohort.of("012") if context.iteration < self.iterations else Cohort()


def test_a_round_ends_after_50_iterations_unless_more_are_allowed(tmp_path):
    with pytest.raises(ConfigurationError, match="at most 50 iterations; Endless"):
        started(Endless(), FedAvg(), three, out=tmp_path)
    begun = (tmp_path / "journal.jsonl").read_bytes()

    started(Endless(), FedAvg(), three, out=tmp_path, max_iterations_per_round=60)

    assert (tmp_path / "journal.jsonl").read_bytes().startswith(begun)
    assert [e["iteration"] for e in events(tmp_path, "cohort")] == list(range(60))
    with pytest.raises(ConfigurationError, match="after at most 2 iterations"):
        started(Endless(iterations=3), FedAvg(), three, max_iterations_per_round=2)
    with pytest.raises(ConfigurationError, match="max_iterations_per_round must be an integer of"):
        started(Endless(), FedAvg(), three, max_iterations_per_round=0)
