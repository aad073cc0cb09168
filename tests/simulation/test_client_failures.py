"""When training a client fails, or kills whoever trains it: stop, or go on without it."""

import os
import signal

import numpy as np
import pytest

from terrafl.errors import ConfigurationError, TerraflError
from terrafl.experiments.config import resolve
from terrafl.experiments.run import execute, resume
from terrafl.records import Refusal
from terrafl.runs import read_lines
from terrafl.simulation.executor import train_or_fail
from terrafl.simulation.job import Trained, TrainTask, Work

# A network that stumbles over batches of a certain length, until a file says that it is mended:
# only clients of certain sizes have such a batch.
NETWORK = """
import os, signal
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from torch import nn

class Stumbles(nn.Sequential):
    def forward(self, x):
        if self.training and {when} and not Path({mended!r}).exists():
            {stumble}
        return super().forward(x)

@dataclass(frozen=True)
class Frail:
    name: ClassVar[str] = "frail"
    final_layer: ClassVar[str] = "1"
    def build(self, input_shape, num_classes):
        return Stumbles(nn.Flatten(), nn.Linear(64, num_classes))
"""
ONE_DIES = {"when": "len(x) == 4", "rounds": 1, "clients_per_round": 12, "selector": "random"}
RAISES = "raise RuntimeError('no batch of this length')"
DIES = f"os.kill(os.getpid(), {int(signal.SIGKILL)})"


@pytest.fixture
def frail(tmp_path, monkeypatch):
    """Return how to configure a run whose network stumbles in this way."""
    monkeypatch.syspath_prepend(tmp_path)

    def configured(stumble, *, name, when="len(x) in (3, 5)", **changes):
        text = NETWORK.format(stumble=stumble, when=when, mended=str(tmp_path / "mended"))
        (tmp_path / f"{name}.py").write_text(text)
        return resolve(
            {
                "partition": {"clients": 12},
                "model": f"{name}:Frail",
                "training": {"epochs": 1, "batch_size": 8},
                "rounds": 2,
                "clients_per_round": 10,
                "selector": {"name": "terraform", "eta": 1},
            },
            changes,
        )

    return configured


def refused(folder):
    return [e for e in read_lines(folder / "journal.jsonl") if e["event"] == "refused"]


def contents(folder):
    names = ("journal.jsonl", "model.safetensors", "summary.json")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.parametrize("workers", [1, 2])
def test_by_default_the_run_stops_and_says_who_failed_and_why(frail, tmp_path, workers):
    config = frail(RAISES, name=f"stops_{workers}")

    with pytest.raises(TerraflError) as stopped:
        execute(config, tmp_path / "run", workers=workers)

    message = str(stopped.value)
    assert message.startswith("training client ")
    assert "failed in round 0, iteration 0: RuntimeError: no batch of this length" in message
    assert f"(stops_{workers}.py, line 11). The work so far is kept" in message
    assert "\n" not in message


def test_once_the_cause_is_mended_the_run_goes_on_as_if_nothing_had_happened(frail, tmp_path):
    config = frail(RAISES, name="mends")
    with pytest.raises(TerraflError, match="The work so far is kept"):
        execute(config, tmp_path / "run")

    (tmp_path / "mended").touch()
    resume(tmp_path / "run")

    execute(config, tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_clients_that_fail_are_dropped_the_same_way_at_any_number_of_workers(frail, tmp_path):
    config = frail(RAISES, name="drops", on_client_failure="drop")

    for workers in (1, 2):
        execute(config, tmp_path / str(workers), workers=workers)

    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    dropped = refused(tmp_path / "1")
    assert dropped
    reason = "training raised RuntimeError: no batch of this length (drops.py, line 11)"
    assert {event["reason"] for event in dropped} == {reason}
    summary = resume(tmp_path / "1").summary
    assert summary.reports_refused == len(dropped)


def test_a_dropped_client_has_no_part_in_the_average(frail, tmp_path):
    config = frail(RAISES, name="alone", on_client_failure="drop", rounds=1)
    execute(config, tmp_path / "run")
    dropped = {event["client"] for event in refused(tmp_path / "run")}
    events = list(read_lines(tmp_path / "run" / "journal.jsonl"))

    splits = [event for event in events if "tau" in event]

    assert splits
    for split in splits:
        assert not dropped & {client["id"] for client in split["clients"]}
    assert not dropped & set(events[-2].get("clients", []))


def test_when_everybody_fails_the_run_ends_with_the_model_it_began_with(frail, tmp_path):
    config = frail("raise ValueError", name="none", when="True", on_client_failure="drop")

    summary = execute(config, tmp_path / "run").summary

    assert summary.rounds == 2
    assert len({point.accuracy for point in summary.curve}) == 1
    assert {e["reason"] for e in refused(tmp_path / "run")} == {
        "training raised ValueError (none.py, line 11)"
    }


def test_a_client_that_kills_its_workers_is_dropped(frail, tmp_path, caplog):
    config = frail(DIES, name="kills", on_client_failure="drop", **ONE_DIES)

    execute(config, tmp_path / "run", workers=2)

    (event,) = refused(tmp_path / "run")
    assert event["client"] == "02"
    assert event["reason"] == "training killed 3 workers (SIGKILL)"
    assert "died (SIGKILL); it is replaced" in caplog.text


def test_by_default_work_that_kills_three_workers_stops_the_run_resumable(frail, tmp_path):
    config = frail(DIES, name="kills_all", **ONE_DIES)
    with pytest.raises(TerraflError, match=r"a worker died 3 times .* out of memory.*resume"):
        execute(config, tmp_path / "run", workers=2)

    (tmp_path / "mended").touch()
    resume(tmp_path / "run")

    execute(config, tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_another_policy_is_refused():
    with pytest.raises(ConfigurationError, match="on_client_failure"):
        resolve({"on_client_failure": "ignore"})


def test_the_policy_does_not_set_experiments_apart():
    assert resolve({"on_client_failure": "drop"}).experiment == resolve().experiment


class Group:
    """Trains groups, except those with client b; notes who was asked for."""

    def __init__(self):
        self.asked = []

    def train(self, work):
        names = "".join(task.client_id for task in work.tasks)
        self.asked.append(names)
        if "b" in names:
            raise MemoryError
        return [Trained(work.received + 1, 1, {}, 0.0) for _ in work.tasks]


TASKS = [TrainTask(i, name, 4, 2, 0.1) for i, name in enumerate("abc")]


def work(received):
    return Work(received=received, tasks=TASKS, given=[{}] * len(TASKS))


def test_of_a_group_that_fails_each_is_trained_by_itself():
    group, received = Group(), np.zeros(2, dtype=np.float32)

    results = train_or_fail(group.train, work(received), "drop")

    assert group.asked == ["abc", "a", "b", "c"]
    assert [isinstance(result, Refusal) for result in results] == [False, True, False]
    assert results[1].reason.startswith("training raised MemoryError (test_client_failures.py")


def test_of_a_group_that_fails_all_are_named_when_the_run_stops():
    with pytest.raises(TerraflError, match="client a or b or c failed in round 4, iteration 2"):
        train_or_fail(Group().train, work(np.zeros(2, dtype=np.float32)), "stop")


def test_a_crew_survives_the_death_of_a_worker_that_is_being_prepared(tmp_path, monkeypatch):
    from terrafl.simulation.process_group import ProcessGroup

    # The child dies at the first preparation that any of them hears.
    (tmp_path / "mortal_child.py").write_text(
        "import os, signal\n"
        "from pathlib import Path\n"
        "from terrafl.simulation.process import serve\n"
        "def handle(message, answer):\n"
        "    try:\n"
        f"        Path({str(tmp_path / 'died')!r}).touch(exist_ok=False)\n"
        "    except FileExistsError:\n"
        "        return answer(message)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "serve(handle)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    with ProcessGroup("mortal_child", 2) as crew:
        assert crew.prepare({"do": "prepare"}) == {"do": "prepare"}
        os.kill(crew.pids[0], signal.SIGKILL)
        assert crew.prepare({"do": "attach"}) == {"do": "attach"}
        answers = crew.ask([{"number": i} for i in range(5)])

    assert answers == [{"number": i} for i in range(5)]


def test_a_crew_whose_workers_cannot_start_says_so(tmp_path, monkeypatch):
    from terrafl.simulation.process_group import ProcessGroup

    (tmp_path / "stillborn_child.py").write_text("import os; os._exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)

    with (
        ProcessGroup("stillborn_child", 1) as crew,
        pytest.raises(TerraflError, match=r"died 3 times at the same work .*exit code 3"),
    ):
        crew.prepare({"do": "prepare"})
