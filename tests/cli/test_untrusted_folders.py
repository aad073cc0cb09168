"""Commands that only read a run folder never import the code that the folder names."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from terrafl.experiments.api import configure
from terrafl.experiments.run import execute

TERRAFL = [sys.executable, "-c", "from terrafl.cli.main import main; main()"]
PAYLOAD = """
from pathlib import Path

Path(__file__).with_name("imported").touch()

class Own: ...
"""
PARTS = ("selector", "algorithm", "model", "partition", "aggregation")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    execute(configure(selector="random", rounds=2, clients=6, clients_per_round=3), folder)
    return folder


@pytest.fixture
def hostile(tmp_path, finished):
    """A folder with a module that leaves a mark when it is imported, and two runs that name it."""
    (tmp_path / "payload.py").write_text(PAYLOAD)
    config = "seed = 0\n" + "".join(f'[{part}]\nname = "payload:Own"\n' for part in PARTS)
    for name in ("done", "live"):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        (run / "config.toml").write_text(config)
        (run / "journal.jsonl").write_bytes((finished / "journal.jsonl").read_bytes())
    summary = json.loads((finished / "summary.json").read_text())
    summary |= {"selector": "payload:Own", "algorithm": "payload:Own"}
    (tmp_path / "runs" / "done" / "summary.json").write_text(json.dumps(summary))
    return tmp_path


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def test_the_payload_leaves_a_mark_when_it_is_imported(hostile):
    subprocess.run([sys.executable, "-c", "import payload"], cwd=hostile, check=True)

    assert (hostile / "imported").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["report", "runs", "--out", "out", "--quiet"],
        ["report", "runs/done", "--out", "out", "--json", "--quiet"],
        ["doctor"],
        ["data", "check", "digits"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_command_that_reads_imports_nothing(hostile, command):
    result = subprocess.run(
        [*TERRAFL, *command], cwd=hostile, env=environment(), capture_output=True, text=True
    )

    assert result.returncode == 0, result.stderr
    assert not (hostile / "imported").exists()
    if command[0] == "report":
        assert "payload:Own" in (hostile / "out" / "report.html").read_text()


def test_watching_imports_nothing(hostile):
    server = subprocess.Popen(
        [*TERRAFL, "watch", "runs"],
        **{"cwd": hostile, "env": environment(), "stdout": subprocess.PIPE, "text": True},
    )
    try:
        address = server.stdout.readline().split()[-1]
        assert "terrafl watch" in urllib.request.urlopen(address).read().decode()
        news = next_sections(address)
    finally:
        server.send_signal(signal.SIGINT)
        server.stdout.close()
        assert server.wait(timeout=30) == 0

    assert news["unreadable"] == []
    assert sum(len(group["methods"]) for group in news["groups"]) == 2
    assert "payload:Own" in news["html"]
    assert not (hostile / "imported").exists()


def next_sections(address):
    """Return the tables of a live page, as soon as both runs are in them."""
    with urllib.request.urlopen(address + "events", timeout=60) as events:
        for line in events:
            if line.startswith(b"event: sections"):
                news = json.loads(events.readline().removeprefix(b"data: "))
                if len(news["places"]) == 2:
                    return news
    raise AssertionError("the server closed the connection")
