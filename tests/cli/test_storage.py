"""A disk that is full or read-only under a run: a real one, in a mount namespace of our own."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from terrafl.experiments.api import run

# Runs inside the namespace, where it may mount: makes a small disk and tries commands on it.
INSIDE = """
import contextlib, io, json, subprocess, sys
from pathlib import Path
from terrafl.cli.main import main

place = Path(sys.argv[1])
disk, run = place / "disk", place / "disk" / "run"
said = []

def mount(options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", disk], check=True)

def terrafl(*arguments):
    sys.argv = ["terrafl", *map(str, arguments), "--workers=1", "--quiet"]
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            said.append([ended.code, err.getvalue()])

def files():
    return {str(p.relative_to(run)): p.read_bytes().hex() for p in run.rglob("*") if p.is_file()}

disk.mkdir()
exec(sys.stdin.read())
print(json.dumps({"said": said, "files": files()}))
"""
FLAGS = ["--dataset=digits", "--clients=10", "--clients-per-round=8", "--model=linear"]
FLAGS += ["--epochs=1", "--selector=terraform", "--set=selector.eta=1", "--rounds=30"]


@pytest.fixture(scope="module")
def in_namespace():
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    if not unshare or not mount:
        pytest.skip("unshare and mount are not here: no disk of our own can be made")
    # Whoever is not root becomes root of a namespace of users.
    start = [unshare, "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    tried = subprocess.run(
        [*start, mount, "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True
    )
    if tried.returncode:
        pytest.skip(f"no disk can be mounted here: {tried.stderr.strip()}")
    return start


@pytest.fixture
def on_disk(in_namespace, tmp_path):
    """Run a script of commands on a small disk; return what was said, and the files left."""

    def played(script):
        done = subprocess.run(
            [*in_namespace, sys.executable, "-c", INSIDE, tmp_path],
            input=f"FLAGS = {FLAGS!r}\n{script}",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        return answer["said"], {n: bytes.fromhex(c) for n, c in answer["files"].items()}

    return played


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return what a run writes whose disk has room."""
    settings = {"selector": {"eta": 1}, "training": {"epochs": 1}}
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(
        dataset="digits",
        clients=10,
        clients_per_round=8,
        model="linear",
        selector="terraform",
        rounds=30,
        settings=settings,
        workers=1,
        out=folder,
    )
    names = ("journal.jsonl", "model.safetensors", "summary.json")
    return {name: (folder / name).read_bytes() for name in names}


def test_a_full_disk_stops_a_run_which_goes_on_when_there_is_room(on_disk, whole):
    said, files = on_disk(
        """
mount("size=56k")
terrafl("run", *FLAGS, "--out", run)
terrafl("resume", run)
mount("remount,size=16m")
terrafl("resume", run)
"""
    )

    (full, complaint), (still_full, _), (code, _) = said
    assert (full, still_full, code) == (1, 1, 0)
    assert complaint.startswith("error: ")
    assert "cannot be written: No space left on device. The work so far is kept" in complaint
    assert "terrafl resume" in complaint
    assert complaint.count("\n") == 1
    assert {name: files[name] for name in whole} == whole


def test_a_disk_too_full_to_begin_leaves_nothing_in_the_way(on_disk, whole):
    said, files = on_disk(
        """
mount("size=8k")
(disk / "filler").write_bytes(bytes(8192))
terrafl("run", *FLAGS, "--out", run)
(disk / "filler").unlink()
mount("remount,size=16m")
terrafl("run", *FLAGS, "--out", run)
"""
    )

    (full, complaint), (code, _) = said
    assert full in (1, 2)
    assert "No space left on device" in complaint
    assert complaint.count("\n") == 1
    assert code == 0
    assert {name: files[name] for name in whole} == whole


def test_a_disk_that_is_read_only_is_refused_and_nothing_is_changed(on_disk, whole):
    said, files = on_disk(
        """
mount("size=56k")
terrafl("run", *FLAGS, "--out", run)
before = files()
mount("remount,size=16m,ro")
terrafl("resume", run)
assert files() == before
mount("remount,size=16m,rw")
terrafl("resume", run)
mount("remount,ro")
before = files()
terrafl("resume", run)
assert files() == before
"""
    )

    (_, _), (refused, complaint), (resumed, _), (again, _) = said
    assert (refused, resumed, again) == (2, 0, 0)
    assert "must be a folder that can be written to: Read-only file system." in complaint
    assert {name: files[name] for name in whole} == whole
