"""Two processes and one run folder: the second is told, the first does not notice."""

import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.fixture
def busy(tmp_path):
    """Start a run that takes long; wait until it has written a checkpoint."""
    command = [sys.executable, "-c", "from terrafl.cli.main import main; main()", "run"]
    process = subprocess.Popen(
        [*command, "--rounds=100000", "--model=linear", "--workers=1", "--out=run", "--quiet"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with process:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "run").glob("checkpoints/0*")):  # whole ones, by their names
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
        process.kill()


@pytest.mark.parametrize("command", [["resume", "run"], ["run", "--rounds=1", "--out=run"]])
def test_the_second_process_is_told_and_the_first_goes_on(
    terrafl, mistake, tmp_path, busy, command
):
    config = (tmp_path / "run" / "config.toml").read_bytes()

    said = terrafl(*command, "--quiet", "--workers=1")

    mistake(said, "run is in use by another process: wait until it is done.")
    assert busy.poll() is None
    assert (tmp_path / "run" / "config.toml").read_bytes() == config


def test_a_killed_run_lets_go_of_its_folder(terrafl, tmp_path, busy):
    busy.send_signal(signal.SIGKILL)
    busy.wait()
    text = (tmp_path / "run" / "config.toml").read_text()
    (tmp_path / "run" / "config.toml").write_text(text.replace("rounds = 100000", "rounds = 1"))

    said = terrafl("resume", "run", "--quiet", "--workers=1")
    allowed = terrafl("resume", "run", "--quiet", "--workers=1", "--allow-drift")

    assert said.code == 2
    assert said.err.startswith(
        "error: run was started under other conditions:\n  rounds  100000 -> "
    )
    assert allowed.code == 0
