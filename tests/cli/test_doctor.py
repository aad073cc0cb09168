"""doctor, shell completion and the words of progress."""

import io
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from terrafl import data
from terrafl.cli import bars
from terrafl.cli.bars import item_progress
from terrafl.cli.main import app
from terrafl.cli.progress import cell_progress, run_progress
from terrafl.experiments.api import configure
from terrafl.experiments.sweep import Cell


def test_the_doctor_says_what_a_bug_report_needs(terrafl):
    said = terrafl("doctor", "--json")

    found = json.loads(said.out)
    assert said.code == 0
    assert found["versions"]["torch"] == version("torch")
    assert found["versions"]["pydantic"] == version("pydantic")
    assert found["machine"]["cores usable"] >= 1
    assert all(free.endswith(" GB") for free in found["free disk"].values())
    assert set(found["data"]) == set(data.available())
    assert found["data"]["digits"] == "here"
    assert "pyarrow" in found["extras"]["parquet"]
    assert not {"dev", "docs"} & set(found["extras"])


def test_the_doctor_speaks_to_people(terrafl, monkeypatch, tmp_path):
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "not" / "yet"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    said = terrafl("doctor")

    assert f"  {'torch':<16} {version('torch')}\n" in said.out
    assert f"  {'cifar10':<16} not found\n" in said.out


BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["re"], ["resume", "report", "reproduce"]),
        (["run", "--selector", "te"], ["terraform"]),
        (["run", "--scenario", "fmnist-1"], ["fmnist-1", "fmnist-1s"]),
        (["compare", "--mod"], ["--model"]),
    ],
)
def test_bash_completes_commands_flags_and_names(words, expected, tmp_path):
    # The script that --show-completion prints, in a real shell, as the Tab key calls it.
    command = tmp_path / "terrafl"
    path = f"import sys; sys.path[:] = {sys.path!r}; from terrafl.cli.main import main; main()"
    command.write_text(f"#!{sys.executable}\n{path}\n")
    command.chmod(0o755)
    script = "\n".join(
        [
            'eval "$(terrafl --show-completion bash)"',
            f"COMP_WORDS=(terrafl {' '.join(words)}) COMP_CWORD={len(words)}",
            "_terrafl_completion terrafl",
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ]
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    done = subprocess.run(
        [BASH, "-c", script], capture_output=True, text=True, env=environment, check=True
    )

    assert sorted(done.stdout.split()) == sorted(expected)


def test_every_command_is_there():
    commands = app.registered_commands
    names = {command.name or command.callback.__name__ for command in commands}

    assert {"run", "resume", "compare", "report", "doctor"} <= names


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(bars, "time", clock)
    return clock


def test_plain_lines_give_rate_and_time_left(clock, capsys):
    with run_progress("mine", "accuracy", quiet=False) as on_round:
        for done in range(1, 31):
            clock.now += 1.5
            on_round(done, 30, 0.5)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "mine: round 8 of 30 50.0% 1.5 s/round 0:33 left"
    assert lines[-1] == "mine: round 30 of 30 50.0% 1.5 s/round"
    assert len(lines) == 5


def test_a_resumed_run_counts_the_rounds_it_made_itself(clock, capsys):
    with run_progress("mine", "accuracy", quiet=False) as on_round:
        for done in range(91, 101):
            clock.now += 2
            on_round(done, 100, None)

    assert capsys.readouterr().err.splitlines()[-1] == "mine: round 100 of 100 2.0 s/round"


def test_runs_of_one_name_in_two_columns_are_told_apart(clock, capsys):
    config = configure(scenario="digits", rounds=5)
    cells = [Cell(Path("runs", column, "random-s0"), config) for column in ("one", "two")]

    with cell_progress(cells, quiet=False) as on_round:
        for cell, seconds in zip(cells, (1.0, 4.0), strict=True):
            for done in range(1, 6):
                clock.now += seconds
                on_round(cell, done, 5, None)

    lines = capsys.readouterr().err.splitlines()
    assert "one/random-s0: round 5 of 5 1.0 rounds/s" in lines
    assert "two/random-s0: round 5 of 5 4.0 s/round" in lines


def test_bytes_are_read_as_people_write_them(clock, capsys):
    with item_progress("byte", quiet=False) as show:
        show("data.gz", 0, 4_000_000)
        clock.now += 4
        show("data.gz", 4_000_000, 4_000_000)

    assert capsys.readouterr().err == "data.gz: 4.0 MB of 4.0 MB 1.0 MB/s\n"


def test_quiet_is_quiet(capsys):
    with item_progress("image", quiet=True) as show:
        show("features", 10, 10)

    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar_with_rate_and_time_left(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")

    with item_progress("image", quiet=False) as show:
        for done in (256, 512, 768):
            show("features", done, 1024)

    assert "features" in terminal.getvalue()
    assert "768 of 1,024 images" in terminal.getvalue()
    assert "images/s" in terminal.getvalue()
