"""The system's Chromium, driven headless; a page that complains or reaches out fails its test."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser on this machine: looked for {', '.join(NAMES)}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open an address in a window of its own; afterwards it must have kept quiet and to itself."""
    contexts, complaints, requests = [], [], []

    def opened(address, **options):
        context = chromium.new_context(**{"viewport": {"width": 1100, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append((address, request.url)))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    for address, url in requests:
        assert url.startswith(address), f"{address} asked for {url}"


@pytest.fixture
def watching(chromium):
    """Start terrafl watch; return the address of its page.

    Ask for it before the page, so that it outlives the page.
    """
    servers = []

    def watch(*folders):
        server = subprocess.Popen(
            [sys.executable, "-c", "from terrafl.cli.main import main; main()", "watch", *folders],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            text=True,
        )
        servers.append(server)
        return server.stdout.readline().split()[-1]

    yield watch
    for server in servers:
        server.send_signal(signal.SIGINT)
        server.stdout.close()
        assert server.wait(timeout=30) == 0
