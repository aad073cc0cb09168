"""The command line, called in this process as the console script calls it."""

import logging
from dataclasses import dataclass

import pytest

from terrafl.cli import main as cli

# Flags of a run that takes a twentieth of a second.
TINY = [
    "--dataset=digits",
    "--clients=10",
    "--clients-per-round=5",
    "--rounds=2",
    "--model=linear",
    "--epochs=1",
    "--workers=1",
]


@dataclass
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def terrafl(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    # One line per message wherever the tests run.
    monkeypatch.setenv("COLUMNS", "200")
    handlers = list(logging.getLogger().handlers)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["terrafl", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Said(ended.value.code, said.out, said.err)

    yield run
    logging.getLogger().handlers[:] = handlers


@pytest.fixture
def tiny():
    return TINY


@pytest.fixture
def mistake():
    """Check that a command ended as a user's mistake does: one sentence, no traceback."""

    def checked(said, sentence):
        assert said.code == 2
        assert said.out == ""
        assert said.err.startswith("error: ")
        assert said.err.count("\n") == 1
        assert "Traceback" not in said.err
        assert sentence in said.err

    return checked
