"""Code that a run folder names is imported only if the user trusts it."""

import sys
import tomllib

import pytest
import tomli_w
from typer.testing import CliRunner

from terrafl.cli.main import app
from terrafl.errors import RunFolderError
from terrafl.experiments.api import configure
from terrafl.experiments.run import execute, resume

SOURCE = """
from dataclasses import dataclass
from pathlib import Path
from terrafl.selection import Random

Path({mark!r}).touch()

@dataclass(slots=True, kw_only=True)
class Mine(Random):
    pass
"""


class Stopped(Exception):
    pass


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("strangers", None)


def a_folder_that_names_code(home, tiny, part="selector"):
    """Return an interrupted run whose configuration was changed to name a module."""

    def stop(*progress):
        raise Stopped

    folder = home / "run"
    with pytest.raises(Stopped):
        execute(tiny(), folder, on_round=stop)
    config = tomllib.loads((folder / "config.toml").read_text())
    config[part] = {"name": "strangers:Mine"}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    mark = home / "imported"
    (home / "strangers.py").write_text(SOURCE.format(mark=str(mark)))
    return folder, mark


@pytest.mark.parametrize("part", ["selector", "algorithm", "aggregation", "model", "partition"])
def test_a_strangers_folder_is_not_resumed(home, tiny, part):
    folder, mark = a_folder_that_names_code(home, tiny, part)
    before = sorted(path.name for path in folder.iterdir())

    with pytest.raises(RunFolderError, match=r"names code .*strangers:Mine.*--trust"):
        resume(folder)
    shown = CliRunner().invoke(app, ["resume", str(folder)])

    assert shown.exit_code == 2 or isinstance(shown.exception, RunFolderError)
    assert not mark.exists()
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_configuration_of_a_strangers_folder_is_not_run(home, tiny):
    folder, mark = a_folder_that_names_code(home, tiny)

    with pytest.raises(RunFolderError, match=r"strangers:Mine.*--trust"):
        configure(config=folder / "config.toml")
    assert not mark.exists()

    assert type(configure(config=folder / "config.toml", trust=True).selector).__name__ == "Mine"
    assert mark.exists()


def test_code_that_was_run_before_is_trusted_until_it_changes(home, tiny):
    (home / "strangers.py").write_text(SOURCE.format(mark=str(home / "imported")))
    config = tiny(selector="strangers:Mine")

    def stop(*progress):
        raise Stopped

    with pytest.raises(Stopped):
        execute(config, home / "mine", on_round=stop)
    del sys.modules["strangers"]

    assert resume(home / "mine").summary.rounds == config.rounds

    del sys.modules["strangers"]
    (home / "strangers.py").write_text(SOURCE.format(mark=str(home / "imported")) + "# changed\n")
    with pytest.raises(RunFolderError, match=r"--trust"):
        resume(home / "mine")


def test_a_file_of_the_users_own_needs_no_trust(home, tiny):
    (home / "strangers.py").write_text(SOURCE.format(mark=str(home / "imported")))
    (home / "mine.toml").write_text('dataset = "digits"\nselector = "strangers:Mine"\n')

    assert type(configure(config=home / "mine.toml").selector).__name__ == "Mine"
