"""terrafl watch: what it says when it cannot."""

import socket
import sys


def test_a_folder_that_does_not_exist_is_a_mistake(terrafl, mistake):
    mistake(terrafl("watch", "nowhere"), "nowhere must be a folder that runs are in, or will be")


def test_without_its_libraries_it_says_what_to_install(terrafl, mistake, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    mistake(terrafl("watch", tmp_path), "pip install 'terrafl[watch]'")


def test_a_port_that_is_taken_is_a_mistake(terrafl, mistake, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        said = terrafl("watch", tmp_path, "--port", port)

    mistake(said, f"port {port} of 127.0.0.1 must be free")
