"""A run that was interrupted, anywhere and in any way, ends as if it never had been."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import pytest

from terrafl.experiments.run import execute, resume
from terrafl.runs import Journal

SELECTORS = {
    "oort": {"name": "oort"},
    "hics": {"name": "hics"},
    "terraform": {"name": "terraform", "eta": 1},
    "anchored": {"name": "terraform", "eta": 1, "anchor": True},
}


class Interrupted(Exception):
    """Stands for whatever stops a run."""


def stop_after(rounds):
    def stop(done, planned, accuracy):
        if done == rounds:
            raise Interrupted

    return stop


@dataclass
class Lab:
    """Starts runs, and knows what they write when nothing interrupts them."""

    tiny: object
    written: object
    folder: object

    def start(self, name, folder="run", **options):
        execute(self.tiny(selector=SELECTORS[name]), self.folder / folder, **options)

    def whole(self, name):
        if not (self.folder / "whole").exists():
            self.start(name, "whole")
        return self.written(self.folder / "whole")

    def resumed(self, folder="run"):
        resume(self.folder / folder)
        return self.written(self.folder / folder)


@pytest.fixture
def lab(tiny, written, tmp_path):
    return Lab(tiny, written, tmp_path)


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("checkpoint_every_s", [0, 1000])
def test_a_run_interrupted_between_rounds_ends_the_same(lab, name, checkpoint_every_s):
    with pytest.raises(Interrupted):
        lab.start(name, on_round=stop_after(2), checkpoint_every_s=checkpoint_every_s)
    assert not (lab.folder / "run" / "summary.json").exists()

    assert lab.resumed() == lab.whole(name)


@pytest.mark.parametrize(
    ("name", "every"), [("oort", 4), ("hics", 4), ("terraform", 2), ("anchored", 3)]
)
def test_a_run_interrupted_before_any_line_it_writes_ends_the_same(lab, monkeypatch, name, every):
    expected = lab.whole(name)
    logs = [lab.folder / "whole" / log for log in ("journal.jsonl", "timings.jsonl")]
    num_lines = sum(log.read_bytes().count(b"\n") for log in logs)
    append = Journal.append

    for stop in range(0, num_lines, every):
        lines = iter(range(num_lines))

        def append_or_stop(journal, event, stop=stop, lines=lines):
            if next(lines) == stop:
                raise Interrupted
            append(journal, event)

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", append_or_stop)
            with pytest.raises(Interrupted):
                lab.start(name, f"stopped-{stop}", checkpoint_every_s=0)

        assert lab.resumed(f"stopped-{stop}") == expected, stop


def test_a_run_may_be_interrupted_again_and_again(lab):
    with pytest.raises(Interrupted):
        lab.start("terraform", on_round=stop_after(1), checkpoint_every_s=0)
    for rounds in (2, 3):
        with pytest.raises(Interrupted):
            resume(lab.folder / "run", on_round=stop_after(rounds), checkpoint_every_s=0)

    assert lab.resumed() == lab.whole("terraform")


def test_a_resumed_run_does_not_begin_again(lab):
    with pytest.raises(Interrupted):
        lab.start("terraform", on_round=stop_after(2), checkpoint_every_s=0)
    heard = []

    resume(lab.folder / "run", on_round=lambda *progress: heard.append(progress))

    assert [(done, planned) for done, planned, _ in heard] == [(3, 3)]


def test_a_damaged_checkpoint_costs_time_only(lab, caplog):
    with pytest.raises(Interrupted):
        lab.start("oort", on_round=stop_after(2), checkpoint_every_s=0)
    newest = max((lab.folder / "run" / "checkpoints").iterdir())
    (newest / "arrays.safetensors").write_bytes(b"damaged")

    assert lab.resumed() == lab.whole("oort")
    assert "is damaged and was passed over" in caplog.text


# Each run has a process of its own, which dies by SIGKILL while it writes the n-th line.
DOOMED = """
import json, os, signal, sys
from pathlib import Path
import terrafl.simulation.in_process, terrafl.experiments.assemble  # once, for all that are forked
from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import execute
from terrafl.runs import Journal

append = Journal.append

def die_at(journal_path, last):
    seen = 0
    def append_or_die(journal, event):
        nonlocal seen
        seen += 1
        if seen == last:
            with journal_path.open("ab") as file:
                file.write(b'{"event":"torn')
            os.kill(os.getpid(), signal.SIGKILL)
        append(journal, event)
    Journal.append = append_or_die

for case in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        folder = Path(case["folder"])
        die_at(folder / "journal.jsonl", case["last"])
        execute(RunConfig.from_plain(case["config"]), folder, checkpoint_every_s=0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, flush=True)
"""
DEATHS = [(name, last) for name in SELECTORS for last in (2, 9, 14)]


@pytest.fixture(scope="module")
def killed(tiny, tmp_path_factory):
    """Start runs that die, all in one go; return where they lie."""
    parent = tmp_path_factory.mktemp("killed")
    cases = [
        {
            "folder": str(parent / f"{name}-{last}"),
            "config": tiny(selector=SELECTORS[name]).to_plain(),
            "last": last,
        }
        for name, last in DEATHS
    ]
    doomed = subprocess.run(
        [sys.executable, "-c", DOOMED],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert doomed.returncode == 0, doomed.stderr
    assert [int(line) for line in doomed.stdout.split()] == [signal.SIGKILL] * len(DEATHS)
    return parent


@pytest.mark.parametrize(("name", "last"), DEATHS)
def test_a_killed_run_ends_as_if_nothing_had_happened(killed, lab, name, last):
    assert lab.resumed(killed / f"{name}-{last}") == lab.whole(name)
