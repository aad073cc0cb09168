"""Many runs: finished ones are skipped, foreign ones refused, and order does not matter."""

import signal
import time

import pytest

from terrafl.errors import ConfigurationError, RunFolderError, TerraflError
from terrafl.experiments.api import cells
from terrafl.experiments.run import execute
from terrafl.experiments.sweep import Cell, sweep
from terrafl.selection import Terraform


@pytest.fixture
def plan(tmp_path, small):
    """Plan two selectors and two seeds in a folder."""

    def planned(name, **changes):
        return cells(
            tmp_path / name, ["random", "terraform"], ["fedavg"], [0, 1], **small | changes
        )

    return planned


def files(folder):
    return {p.relative_to(folder): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_cells_are_planned_seed_by_seed(tmp_path, small):
    planned = cells(tmp_path, ["random", Terraform(eta=2)], ["fedavg", "fedprox"], [0, 1], **small)

    assert [cell.folder.name for cell in planned] == [
        "random-fedavg-s0",
        "terraform-eta=2-fedavg-s0",
        "random-fedprox-s0",
        "terraform-eta=2-fedprox-s0",
        "random-fedavg-s1",
        "terraform-eta=2-fedavg-s1",
        "random-fedprox-s1",
        "terraform-eta=2-fedprox-s1",
    ]


def test_a_cell_s_name_is_one_folder_whatever_its_settings(tmp_path, small):
    (cell,) = cells(tmp_path, [Terraform(search_range=("1/3", 1))], ["fedavg"], [0], **small)

    assert cell.folder.parent == tmp_path
    assert cell.folder.name == "terraform-search_range=1_3-1-fedavg-s0"


def test_a_method_named_twice_is_run_once(tmp_path, small):
    assert len(cells(tmp_path, ["random", "random"], ["fedavg"], [0, 0], **small)) == 1


TWINS = """
from dataclasses import dataclass
from typing import ClassVar
from terrafl.selection import Random

@dataclass
class One(Random):
    name: ClassVar[str] = "twin"

@dataclass
class Other(Random):
    name: ClassVar[str] = "twin"
"""


def test_settings_of_the_algorithm_set_cells_apart(tmp_path, small):
    algorithms = [{"name": "fedprox", "mu": mu} for mu in (0.1, 0.5)]

    planned = cells(tmp_path, ["random"], algorithms, [0], **small)

    assert [cell.folder.name for cell in planned] == [
        "random-fedprox-s0",
        "random-fedprox-mu=0.5-s0",
    ]


NAMESAKES = """
from dataclasses import dataclass
from terrafl.selection import Random

@dataclass(slots=True, kw_only=True)
class One(Random):
    pass

@dataclass(slots=True, kw_only=True)
class Two(Random):
    pass
"""


def test_two_methods_of_one_name_are_refused(tmp_path, small, monkeypatch):
    (tmp_path / "namesakes.py").write_text(NAMESAKES)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigurationError, match="two are called random-fedavg-s0"):
        cells(tmp_path, ["namesakes:One", "namesakes:Two"], ["fedavg"], [0], **small)


def test_every_cell_is_finished_and_heard_of(plan):
    planned, heard = plan("runs"), []

    sweep(planned, on_round=lambda cell, *progress: heard.append((cell.folder.name, *progress)))

    assert all((cell.folder / "summary.json").exists() for cell in planned)
    assert [(name, done, total) for name, done, total, _ in heard] == [
        (cell.folder.name, done, 2) for cell in planned for done in (1, 2)
    ]


def test_finished_cells_are_skipped(plan, tmp_path):
    sweep(plan("runs")[:3])
    before, heard = files(tmp_path / "runs"), []

    sweep(plan("runs"), on_round=lambda cell, *progress: heard.append(progress))

    after = files(tmp_path / "runs")
    assert {path: after[path] for path in before if path.name != ".lock"} == {
        path: when for path, when in before.items() if path.name != ".lock"
    }
    assert [accuracy is None for _, _, accuracy in heard] == [True, True, True, False, False]


def test_an_unfinished_cell_is_finished(plan, written):
    cell, *_ = plan("runs")

    def stop(done, planned, accuracy):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        execute(cell.config, cell.folder, on_round=stop, checkpoint_every_s=0)

    sweep([cell])

    undisturbed, *_ = plan("others")
    sweep([undisturbed])
    assert written(cell.folder) == written(undisturbed.folder)


def test_a_folder_with_another_configuration_is_refused(plan):
    sweep(plan("runs")[:1])

    with pytest.raises(RunFolderError, match=r"holds a run with another rounds \(2, wanted 3\)"):
        sweep(plan("runs", rounds=3)[:1])


def test_runs_side_by_side_give_the_bytes_of_runs_one_by_one(plan, written):
    one_by_one, side_by_side = plan("one"), plan("two")

    sweep(one_by_one, workers=1)
    sweep(side_by_side, workers=2)

    for first, second in zip(one_by_one, side_by_side, strict=True):
        assert written(first.folder) == written(second.folder)


@pytest.fixture
def no_longer_than_a_minute():
    """Raise in a test that would wait for ever."""

    def give_up(signum, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_longer_than_a_minute")
def test_a_listener_slower_than_the_runs_misses_nothing(plan):
    planned, heard = plan("runs")[:2], []

    def listen(cell, done, total, accuracy):
        time.sleep(0.5)  # meanwhile the runs end, and all they said has arrived at once
        heard.append((cell.folder.name, done))

    sweep(planned, workers=2, on_round=listen)

    assert sorted(heard) == sorted((cell.folder.name, done) for cell in planned for done in (1, 2))


def test_a_run_that_fails_in_its_process_is_named_with_the_reason(tiny, tmp_path):
    planned = [Cell(tmp_path / str(k), tiny(clients_per_round=k)) for k in (13, 14)]

    with pytest.raises(TerraflError, match=r"the run in .*1[34] .*: clients_per_round must be"):
        sweep(planned, workers=2)


DEADLY = '''
import os, signal
from dataclasses import dataclass
from terrafl.selection import Random

@dataclass(slots=True, kw_only=True)
class Deadly(Random):
    """Kill the process in the second round."""

    def draw(self, context):
        if context.round == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return Random.draw(self, context)
'''


def test_a_run_whose_processes_die_is_reported_and_what_it_did_is_kept(tiny, tmp_path, monkeypatch):
    (tmp_path / "deadly_selector.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(tmp_path)
    config = tiny(selector="deadly_selector:Deadly")
    planned = [Cell(tmp_path / name, config) for name in ("a", "b")]

    interrupted = r"was interrupted 3 times: process \d+ died \(SIGKILL\)\. Finished rounds"
    with pytest.raises(TerraflError, match=interrupted):
        sweep(planned, workers=2)

    assert any((cell.folder / "journal.jsonl").exists() for cell in planned)


DEADLY_ONCE = (
    DEADLY.replace(
        "if context.round == 1:", "if context.round == 1 and not os.path.exists(MARK) and mark():"
    )
    + """
MARK = {mark!r}

def mark():
    open(MARK, "x").close()
    return True
"""
)


def test_a_run_whose_process_died_once_is_resumed_and_ends_the_same(
    tiny, tmp_path, monkeypatch, written
):
    module = tmp_path / "deadly_once.py"
    module.write_text(DEADLY_ONCE.replace("{mark!r}", repr(str(tmp_path / "died"))))
    monkeypatch.syspath_prepend(tmp_path)
    config = tiny(selector="deadly_once:Deadly")

    sweep([Cell(tmp_path / name, config) for name in ("a", "b")], workers=2)

    assert (tmp_path / "died").exists()
    assert written(tmp_path / "a") == written(tmp_path / "b")
