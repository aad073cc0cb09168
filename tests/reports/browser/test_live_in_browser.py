"""The live page in a real browser, fed by the real server from real runs."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from terrafl.reports.trace import read_trace
from terrafl.runs import RunFolder

TERRAFL = [sys.executable, "-c", "from terrafl.cli.main import main; main()"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
SMALL = ["--dataset=digits", "--clients=20", "--clients-per-round=10", "--workers=1", "--quiet"]


def start(*arguments):
    return subprocess.Popen(
        [*TERRAFL, *map(str, arguments)], env=ENVIRONMENT, stdout=subprocess.DEVNULL
    )


@pytest.fixture
def started():
    """Start terrafl commands; whatever still runs at the end is stopped."""
    processes = []

    def begun(*arguments):
        processes.append(start(*arguments))
        return processes[-1]

    yield begun
    for process in processes:
        process.kill()
        process.wait()


def finished(page, count=1):
    page.wait_for_function(
        "n => document.querySelectorAll('#watched .run.finished').length === n", arg=count
    )


def known(page):
    """Return the iterations that the page knows of each run."""
    return page.evaluate(
        "Object.fromEntries([...terrafl.state.runs.values()].map(r => [r.name, r.steps.client]))"
    )


def written(folder):
    return [client for step in read_trace(RunFolder(folder)).steps for client in step.clients]


def held_midway(runs):
    """Stop each run, by its folder, when it has journalled three evaluations."""
    waiting, deadline = dict(runs), time.monotonic() + 120
    while waiting:
        assert time.monotonic() < deadline
        for folder, run in list(waiting.items()):
            journal = folder / "journal.jsonl"
            if journal.exists() and journal.read_bytes().count(b'"evaluation"') >= 3:
                run.send_signal(signal.SIGSTOP)
                del waiting[folder]


def test_the_page_grows_while_runs_write(watching, open_page, started, tmp_path):
    page = open_page(watching(tmp_path))
    page.wait_for_selector("text=No run yet")

    runs = {
        tmp_path / name: started(
            "run", *SMALL, "--selector", name, "--rounds=60", "--out", tmp_path / name
        )
        for name in ("random", "terraform")
    }
    held_midway(runs)
    page.wait_for_selector("[data-chart=curves] canvas")
    page.wait_for_selector(".heat")
    page.wait_for_function(
        "() => terrafl.state.runs.size === 2 &&"
        " [...terrafl.state.runs.values()].every(r => r.done >= 2)"
    )
    early = page.evaluate("Math.max(...[...terrafl.state.runs.values()].map(r => r.done))")
    for run in runs.values():
        run.send_signal(signal.SIGCONT)
        assert run.wait() == 0
    finished(page, 2)

    assert early < 60
    page.wait_for_function("() => document.querySelectorAll('.legend button').length === 2")
    for name in ("random", "terraform"):
        summary = RunFolder(tmp_path / name).read_summary()
        assert known(page)[name] == written(tmp_path / name)
        page.wait_for_selector(f"td:has-text('{100 * summary.accuracy:.2f}')")


def test_the_page_survives_a_killed_run_and_its_resumption(watching, open_page, started, tmp_path):
    page = open_page(watching(tmp_path))
    run = started(
        *("run", *SMALL, "--selector=terraform", "--rounds=60", "--out", tmp_path / "run")
    )
    page.wait_for_function("() => [...terrafl.state.runs.values()].some(r => r.done >= 3)")

    run.send_signal(signal.SIGKILL)
    run.wait()
    assert started("resume", tmp_path / "run", "--quiet").wait() == 0
    finished(page)

    assert known(page) == {"run": written(tmp_path / "run")}


def test_ten_thousand_rounds_arrive_and_more_join_them(
    watching, open_page, tmp_path, real_runs, long_journal
):
    folder = tmp_path / "long"
    folder.mkdir()
    text = (real_runs / "terraform-s0" / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("rounds = 6", "rounds = 10001"))
    events = [json.dumps(event) + "\n" for event in long_journal(rounds=10_001, cohort=10)]
    last = max(i for i, line in enumerate(events) if '"cohort"' in line and '"round": 9999' in line)
    (folder / "journal.jsonl").write_text("".join(events[: last + 3]))

    page = open_page(watching(tmp_path))
    page.wait_for_function("() => [...terrafl.state.runs.values()].some(r => r.done >= 10000)")
    page.wait_for_selector(".heat")
    # The longest that the page did not answer while it drew all of it once more.
    page.get_by_role("button", name="Update norm").click()
    with (folder / "journal.jsonl").open("a") as file:
        file.writelines(events[last + 3 :])
    page.wait_for_function("() => [...terrafl.state.runs.values()].some(r => r.done === 10001)")

    page.wait_for_function(
        "() => document.querySelector('.round-number').textContent === 'round 10001 of 10001'"
    )
    assert page.evaluate("[...terrafl.state.runs.values()][0].steps.round.length") == 20_002
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000


def test_nobody_is_answered_without_the_word_in_the_address(watching, tmp_path):
    address = watching(tmp_path)
    base = address.rsplit("/", 2)[0]

    for path in ("/", "/events", "/wrong/", "/wrong/events"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(base + path)
        assert refused.value.code == 404
        refused.value.close()


def test_a_foreign_name_for_this_machine_is_refused(watching, tmp_path):
    request = urllib.request.Request(watching(tmp_path), headers={"Host": "evil.example"})

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)

    assert refused.value.code == 400
    refused.value.close()


def test_the_server_says_what_a_page_may_do(watching, tmp_path):
    with urllib.request.urlopen(watching(tmp_path)) as answer:
        headers = answer.headers

    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
