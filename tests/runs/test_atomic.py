"""Files that are whole or absent."""

import resource
import subprocess
import sys
import time

import pytest

from terrafl.runs.atomic import write_atomically

# Writes two contents in turn until it is killed.
WRITER = """
import sys
from pathlib import Path
from terrafl.runs.atomic import write_atomically
while True:
    for letter in (b"a", b"b"):
        write_atomically(Path(sys.argv[1]), letter * 300_000)
"""


@pytest.fixture
def full_disk():
    """Let no file of this process grow beyond 1,000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, full_disk):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with pytest.raises(OSError, match="File too large"):
        write_atomically(path, b"n" * 5000)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_writer_leaves_one_whole_file(tmp_path):
    path = tmp_path / "file"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    try:
        while not path.exists() and writer.poll() is None:
            time.sleep(0.01)
        time.sleep(0.05)
    finally:
        writer.kill()
        writer.wait()

    content = path.read_bytes()
    assert content in (b"a" * 300_000, b"b" * 300_000)
