"""A child process that speaks JSON lines, and what is heard when it dies."""

import os
import selectors
import signal
import subprocess
import sys
import termios
import time
from array import array
from fcntl import ioctl

import pytest

from terrafl.simulation.process import ChildDied, JsonProcess

CHILD = """
import os, signal, sys
from terrafl.simulation.process import serve

def handle(message, answer):
    match message["do"]:
        case "echo":
            answer(message)
        case "count":
            for i in range(message["to"]):
                answer({"number": i})
        case "print":
            print("not an answer", flush=True)
            os.system("echo not an answer either")
            answer({})
        case "environment":
            answer({name: os.environ.get(name) for name in message["names"]})
        case "die":
            os.kill(os.getpid(), message["signal"])
        case "exit":
            sys.exit(message["code"])

serve(handle)
"""


def waiting_bytes(process):
    """Return how much lies in the pipe from a child."""
    return array("i", ioctl(process.fileno(), termios.FIONREAD, bytes(4)))[0]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Put the child's module where Python finds it."""
    (tmp_path / "obedient_child.py").write_text(CHILD)
    monkeypatch.syspath_prepend(tmp_path)
    return "obedient_child"


@pytest.fixture
def child(module):
    process = JsonProcess(module)
    yield process
    process.close()


def test_a_message_is_answered(child):
    child.send({"do": "echo", "text": "é\n", "numbers": [1, 2.5, None]})

    assert child.receive() == {"do": "echo", "text": "é\n", "numbers": [1, 2.5, None]}


def test_answers_come_in_their_order(child):
    child.send({"do": "count", "to": 100})

    assert [child.receive()["number"] for _ in range(100)] == list(range(100))


def test_a_large_message_arrives_whole(child):
    numbers = list(range(50_000))

    child.send({"do": "echo", "numbers": numbers})

    assert child.receive()["numbers"] == numbers


def test_what_a_library_prints_does_not_garble_an_answer(module, capfd):
    child = JsonProcess(module)

    child.send({"do": "print"})

    assert child.receive() == {}
    child.close()
    assert capfd.readouterr().err == "not an answer\nnot an answer either\n"


def test_a_child_computes_on_one_thread(child):
    names = ["OMP_NUM_THREADS", "MKL_NUM_THREADS"]

    child.send({"do": "environment", "names": names})

    assert child.receive() == dict.fromkeys(names, "1")


def test_a_child_with_something_to_say_can_be_waited_for(child):
    with selectors.DefaultSelector() as ready:
        ready.register(child, selectors.EVENT_READ)
        assert ready.select(timeout=0.05) == []

        child.send({"do": "echo"})

        assert ready.select(timeout=20)


def test_answers_that_arrive_together_are_all_heard(child):
    child.send({"do": "count", "to": 3})
    while waiting_bytes(child) < 3 * len('{"number": 0}\n'):
        time.sleep(0.01)
    heard = [child.receive()]

    while child.has_unread:
        heard.append(child.receive())

    assert [message["number"] for message in heard] == [0, 1, 2]


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_death_by_a_signal_is_reported_by_its_name(child, death):
    child.send({"do": "die", "signal": int(death)})

    with pytest.raises(ChildDied, match=rf"^process {child.pid} died \({death.name}\)$"):
        child.receive()


def test_an_exit_is_reported_with_its_code(child):
    child.send({"do": "exit", "code": 7})

    with pytest.raises(ChildDied, match=r"died \(exit code 7\)"):
        child.receive()


def test_a_message_to_a_dead_child_says_how_it_died(child):
    os.kill(child.pid, signal.SIGKILL)

    def talk():
        for _ in range(100):  # the first may still go into the pipe
            child.send({"do": "echo"})
            time.sleep(0.01)

    with pytest.raises(ChildDied, match="SIGKILL"):
        talk()


def test_a_child_ends_when_its_parent_does(module):
    read, write = os.pipe()
    parent = (
        "import os, sys\n"
        f"sys.path[:] = {sys.path!r}\n"
        "from terrafl.simulation.process import JsonProcess\n"
        f"child = JsonProcess({module!r}, pass_fds=[{write}])\n"
        "child.send({'do': 'echo'}); child.receive()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", parent], pass_fds=[write])
    os.close(write)

    assert os.read(read, 1) == b""  # comes when nobody holds the other end any more
    os.close(read)


def test_a_child_is_closed_for_good(child):
    child.close()

    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_module_that_is_not_there_is_a_death(capfd):
    process = JsonProcess("no_such_module_anywhere")

    with pytest.raises(ChildDied, match="exit code 1"):
        process.receive()

    process.close()
    assert "No module named no_such_module_anywhere" in capfd.readouterr().err
