"""A measurement that a user registers: in this process, in workers, on both training loops."""

import subprocess
import sys

import numpy as np
import pytest
from executing import train
from registered import registered

from terrafl.errors import ConfigurationError
from terrafl.experiments.run import execute, resume
from terrafl.models import MLP
from terrafl.runs import read_lines
from terrafl.selection.needs import Measurement
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import TrainTask, arrays_of
from terrafl.simulation.local_training import LocalTraining

# One module registers, another selects: workers must import the former.
MEASURES = """
import numpy as np
from terrafl.selection import Measurement, register

def model_norm(model, received, final_layer):
    return np.linalg.norm(model.astype(np.float64) - received)

register(Measurement(name="model_norm", source="server", function=model_norm, wire_bytes=0))
register(Measurement(name="cubed_loss", source="client", function=lambda loss: loss**3))
"""
SELECTOR = """
import {name}_measures
from dataclasses import dataclass
from typing import ClassVar
from terrafl.selection import Cohort, Selector

@dataclass
class Curious(Selector):
    name: ClassVar[str] = "curious"
    needs: ClassVar = frozenset({{"model_norm", "cubed_loss", "update_norm"}})

    def draw(self, context):
        return Cohort.of(context.population.names(context.draw_uniformly()))

    def refine(self, reports, context):
        values = [[r.client_id, *(r.value(n) for n in sorted(self.needs))] for r in reports]
        return Cohort(why={{"event": "heard", "values": values}})
"""


@pytest.fixture
def curious(tmp_path, monkeypatch):
    """Return how to name a selector with needs of its own, in modules of this name."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(name):
        (tmp_path / f"{name}_measures.py").write_text(MEASURES)
        (tmp_path / f"{name}.py").write_text(SELECTOR.format(name=name))
        return f"{name}:Curious"

    with registered():
        yield written


def test_it_gives_the_same_bytes_with_any_number_of_workers(tiny, tmp_path, curious, written):
    config = tiny(selector={"name": curious("curious_one")}, model={"name": "mlp", "hidden": [8]})

    folders = [tmp_path / f"run-{workers}" for workers in (1, 2)]
    for workers, folder in enumerate(folders, start=1):
        execute(config, folder, workers=workers)

    assert written(folders[0]) == written(folders[1])
    heard = [e for e in read_lines(folders[0] / "journal.jsonl") if e["event"] == "heard"]
    assert len(heard) == 3
    for _, cubed_loss, model_norm, update_norm in (row for e in heard for row in e["values"]):
        assert cubed_loss > 0
        assert model_norm > update_norm > 0  # there are layers before the final one


def test_an_edit_of_the_module_that_measures_is_noticed(tiny, tmp_path, curious):
    config = tiny(selector={"name": curious("curious_two")})
    execute(config, tmp_path / "run")

    from terrafl.experiments.drift import conditions

    before = conditions(config)
    (tmp_path / "curious_two_measures.py").write_text(MEASURES + "\n")
    changed = {k for k, v in conditions(config).items() if before[k] != v}

    assert changed == {"code.curious_two_measures"}
    assert resume(tmp_path / "run").config == config  # a finished run is only read


@pytest.mark.parametrize("batch_size", [4, 128], ids=["clients together", "one by one"])
def test_it_is_the_mean_over_the_examples_seen_on_either_loop(
    federation, examples, job, batch_size
):
    data = federation([examples(n, seed=n) for n in (5, 9)])
    # Not 0 at 0, where it is infinite: rows that fill a batch up must not count.
    inverse = Measurement(name="inverse", source="client", function=lambda loss: 1 / loss)
    shifted = Measurement(name="shifted", source="client", function=lambda loss: loss + 1)
    training = LocalTraining(epochs=2, batch_size=batch_size)

    with registered(inverse, shifted):
        one = job(data, training, model=MLP(hidden=(5,)), needs=("inverse", "shifted", "loss"))
        tasks = [TrainTask(i, c, 0, 0, 0.1) for i, c in enumerate("ab")]
        with InProcess(one, arrays_of(data)) as executor:
            results = train(executor, tasks)

    for values in (trained.measurements for trained in results):
        assert values["shifted"] == pytest.approx(values["loss"] + 1, rel=1e-9)
        assert 1 / values["loss"] <= values["inverse"] < np.inf  # Jensen


def test_a_measurement_of_a_script_cannot_reach_workers(federation, examples, job):
    data = federation([examples(5, seed=0)])
    scripted = Measurement(name="scripted", source="client", function=abs, module="__main__")

    with registered(scripted):
        one = job(data, LocalTraining(), needs=("scripted",))
        with pytest.raises(ConfigurationError, match="got one in __main__: move it to a module"):
            one.to_plain()


def test_registering_needs_no_torch():
    code = (
        "import sys, terrafl.selection.needs; print(sorted({'torch', 'flwr'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
