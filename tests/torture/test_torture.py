"""A few kills of the many that `make torture` deals out, by the same code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_killed_runs_end_with_the_bytes_of_undisturbed_ones():
    script = Path(__file__).with_name("torture.py")

    done = subprocess.run(
        [sys.executable, script, "--kills=10", "--seed=1"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=1500,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "ended with the bytes of an undisturbed one" in done.stdout
