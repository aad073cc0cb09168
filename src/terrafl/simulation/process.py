"""A child Python process that speaks JSON lines over its standard streams.

Started by module name, never by pickling a function, so a script without a ``__main__`` guard
and a notebook can start one too. The child ends when its parent does: its input then ends.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from terrafl.errors import TerraflError, UserError, describe

Message = dict[str, Any]  # Any: what JSON can hold

# A user error keeps its kind on the way: a caller may skip a missing data set, but not an
# invalid setting.
_MISTAKES = {kind.__name__: kind for kind in UserError.__subclasses__()}

_ENVIRONMENT = {
    # One thread each: parallelism is across clients, and the last bits depend on it.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # glibc keeps what is freed: a training step takes and frees the same megabytes again and
    # again, and having them zeroed by the kernel every time costs 5 to 10 % of it.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
}


class ChildDied(TerraflError):
    """A child process ended without being asked to.

    Parameters
    ----------
    pid
        Its process id.
    how
        The signal's name, or the exit code.
    """

    def __init__(self, pid: int, how: str) -> None:
        super().__init__(f"process {pid} died ({how})")
        self.how = how


class JsonProcess:
    """The parent's end.

    Parameters
    ----------
    module
        What the child runs, as ``python -m`` does; it must call :func:`serve`.
    pass_fds
        File descriptors that the child inherits.
    """

    def __init__(self, module: str, *, pass_fds: Sequence[int] = ()) -> None:
        self._process = subprocess.Popen(
            # -P: the child finds modules where this process does, not in the current folder too.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=pass_fds,
            env={
                **os.environ,
                **_ENVIRONMENT,
                "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
            },
        )
        self._unread = b""

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return what becomes readable when the child has spoken or died.

        What was read already does not count: see :attr:`has_unread`.
        """
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def has_unread(self) -> bool:
        """Whether a message has arrived together with one received before."""
        return b"\n" in self._unread

    def send(self, message: Mapping[str, object]) -> None:
        """Send one message."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._death_error() from error

    def tell(self, message: Mapping[str, object]) -> None:
        """Send one message; if the child is dead, waiting for the answer raises."""
        with contextlib.suppress(ChildDied):
            self.send(message)

    def receive(self) -> Message:
        """Wait for one message."""
        while not self.has_unread:
            piece = os.read(self.fileno(), 1 << 16)
            if not piece:
                raise self._death_error()
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def answer(self) -> Message:
        """Wait for one message; raise what went wrong over there, if something did."""
        message = self.receive()
        if "mistake" in message:
            raise _MISTAKES.get(message["kind"], UserError)(message["mistake"])
        if "failure" in message:
            failure = TerraflError(message["failure"])
            failure.add_note(message["traceback"])  # shown with --debug
            raise failure
        return message

    def _death_error(self) -> ChildDied:
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ChildDied(self.pid, how)

    def close(self) -> None:
        """End the child and wait for it."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()


def serve(handle: Callable[[Message, Callable[[Message], None]], None]) -> None:
    """Handle the parent's messages until it hangs up: the child's end.

    What ``handle`` raises goes back to the parent, which knows the user, as the answer. Whatever
    a library prints goes to standard error, so that it cannot garble one.

    Parameters
    ----------
    handle
        Called with each message and with a function that answers it, any number of times.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(message: Message) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    for line in sys.stdin.buffer:
        try:
            handle(json.loads(line), answer)
        except UserError as error:
            answer({"mistake": str(error), "kind": type(error).__name__})
        except Exception as error:  # whatever it is must reach the user
            ours = isinstance(error, TerraflError)
            what = str(error) if ours else f"a worker failed: {describe(error)}."
            answer({"failure": what, "traceback": "".join(traceback.format_exception(error))})
