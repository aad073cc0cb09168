"""Child processes that share a queue of questions; one that dies is replaced."""

import logging
import selectors
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from terrafl.errors import TerraflError
from terrafl.simulation.process import ChildDied, JsonProcess, Message

_log = logging.getLogger(__name__)

MOST_DEATHS = 3

GiveUp = Callable[[int, ChildDied], Message]
"""Answer a question, known by its index, that killed every process that read it."""


class ProcessGroup:
    """Processes of one kind, with the same preparation.

    The processes start when the group is made, so that they load what they need while the caller
    does the same.

    Parameters
    ----------
    module
        What they run, see :class:`terrafl.simulation.process.JsonProcess`.
    size
        How many.
    pass_fds
        File descriptors that they inherit.
    """

    def __init__(self, module: str, size: int, pass_fds: Sequence[int] = ()) -> None:
        self._module = module
        self._pass_fds = pass_fds
        self._preparation: list[Message] = []
        self._processes = [self._start() for _ in range(size)]

    def _start(self) -> JsonProcess:
        return JsonProcess(self._module, pass_fds=self._pass_fds)

    def __len__(self) -> int:
        return len(self._processes)

    @property
    def pids(self) -> list[int]:
        """The processes' ids."""
        return [process.pid for process in self._processes]

    def prepare(self, message: Message) -> Message:
        """Tell every process, and any that replaces one later; return one of the answers."""
        self._preparation.append(message)
        for process in self._processes:
            process.tell(message)
        return [self._prepared(place) for place in range(len(self))][-1]

    def _prepared(self, place: int) -> Message:
        try:
            return self._processes[place].answer()
        except ChildDied as error:
            return self._replace(place, error)

    def ask(
        self,
        questions: Sequence[Message],
        on_answer: Callable[[int], None] = lambda index: None,
        give_up: GiveUp | None = None,
        on_progress: Callable[[int, Message], None] = lambda index, message: None,
    ) -> list[Message]:
        """Put questions to free processes, in order; return the answers in that order.

        Parameters
        ----------
        questions
            The answer to each must depend on it alone: a question whose reader died goes to
            another process.
        on_answer
            Called with the index of each question as it is answered.
        give_up
            Answers a question that killed three processes; left out, an error is raised.
        on_progress
            Called with a question's index and each message with the key ``progress`` that comes
            before its answer.
        """
        answers: dict[int, Message] = {}
        waiting = deque(range(len(questions)))
        deaths = [0] * len(questions)
        busy: dict[int, int] = {}  # process -> question
        with selectors.DefaultSelector() as ready:

            def give(place: int) -> None:
                if waiting:
                    busy[place] = waiting.popleft()
                    self._processes[place].tell(questions[busy[place]])
                    ready.register(self._processes[place], selectors.EVENT_READ, place)

            for place in range(len(self._processes)):
                give(place)
            while busy:
                for key, _ in ready.select():
                    place, question = key.data, busy[key.data]
                    ready.unregister(key.fileobj)
                    try:
                        answer = _heard(self._processes[place], partial(on_progress, question))
                        if answer is None:
                            ready.register(key.fileobj, selectors.EVENT_READ, place)
                            continue
                        answers[question] = answer
                        on_answer(question)
                    except ChildDied as error:
                        deaths[question] += 1
                        if deaths[question] < MOST_DEATHS:
                            waiting.appendleft(question)
                        else:
                            answers[question] = (give_up or _stop)(question, error)
                        self._replace(place, error)
                    del busy[place]
                    give(place)
        return [answers[i] for i in range(len(questions))]

    def _replace(self, place: int, error: ChildDied) -> Message:
        """Replace a dead process; return its answer to the preparation."""
        _log.warning("worker %d: %s; it is replaced and its work done again", place, error)
        answer: Message = {}
        for attempt in range(1, MOST_DEATHS + 1):
            self._processes[place].close()
            self._processes[place] = self._start()
            try:
                for message in self._preparation:
                    self._processes[place].tell(message)
                    answer = self._processes[place].answer()
                break
            except ChildDied as again:
                if attempt == MOST_DEATHS:
                    return _stop(place, again)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes:
            process.close()


def _heard(process: JsonProcess, on_progress: Callable[[Message], None]) -> Message | None:
    """Return the answer, or ``None`` if only progress has arrived so far."""
    while "progress" in (message := process.answer()):
        on_progress(message)
        if not process.has_unread:
            return None
    return message


def _stop(index: int, error: ChildDied) -> Message:
    raise TerraflError(
        f"a worker died {MOST_DEATHS} times at the same work ({error}): the machine may be out of "
        "memory. The work so far is kept: continue with terrafl resume and fewer --workers."
    ) from error
