"""The worker pool: one process per core, data and models in shared memory.

Messages carry names and numbers; arrays never travel. A worker that dies is replaced and its
work done again, with the same result, since results depend on the task alone.
"""

from __future__ import annotations

import logging
import selectors
from collections import deque
from collections.abc import Sequence
from dataclasses import astuple
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from terrafl.engine.groups import grouped
from terrafl.engine.job import Arrays, Job, Trained, TrainTask, client_sizes
from terrafl.engine.memory import SharedMemory
from terrafl.engine.process import ChildDied, JsonProcess, Message
from terrafl.engine.workers import LossTask, evaluation_chunks
from terrafl.errors import ConfigurationError, TerraflError
from terrafl.models import Layout

__all__ = ["Pool"]

_log = logging.getLogger(__name__)

MOST_DEATHS = 3


class Pool:
    """Workers in processes of their own.

    The processes start when the pool is made, so that they load torch while the caller loads
    data; :meth:`open` gives them their job.

    Parameters
    ----------
    num_workers
        How many.
    """

    def __init__(self, num_workers: int) -> None:
        self._memory = SharedMemory()
        self._processes = [self._start() for _ in range(num_workers)]

    def _start(self) -> JsonProcess:
        return JsonProcess("terrafl.engine.worker", pass_fds=[self._memory.descriptor])

    def open(self, job: Job, arrays: Arrays, most_clients: int) -> Self:
        """Share the data and prepare everyone.

        Parameters
        ----------
        job
            What to train.
        arrays
            The data; copied into shared memory once.
        most_clients
            Largest cohort that will be trained.
        """
        self._arrays = arrays
        self._prepare: Message = {
            "do": "prepare",
            "memory": self._memory.descriptor,
            "job": job.to_plain(),
            "data": self._memory.store(arrays),
        }
        for process in self._processes:
            process.send(self._prepare)
        networks = [_answer_of(process) for process in self._processes]
        network = networks[0]
        self._group_size: int = network["group_size"]
        self._layout = Layout.of(
            [(name, tuple(shape)) for name, shape in network["parameters"]],
            [(name, tuple(shape)) for name, shape in network["buffers"]],
            network["final_layer"],
        )
        size, num_test = self._layout.size, len(arrays["test_y"])
        places = self._memory.allocate(
            {
                "received": ("<f4", (size,)),
                "slots": ("<f4", (most_clients, size)),
                "correct": ("|b1", (num_test,)),
                "losses": ("<f4", (num_test,)),
            }
        )
        self._attach: Message = {"do": "attach", "models": places, "first": False}
        for i, process in enumerate(self._processes):
            process.send(self._attach | {"first": i == 0})
        for process in self._processes:
            _answer_of(process)
        self._shared = self._memory.view(places)
        self._initial = np.array(self._shared["received"], dtype=np.float32)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.close()
        self._memory.close()

    @property
    def pids(self) -> list[int]:
        """The workers' process ids."""
        return [process.pid for process in self._processes]

    @property
    def layout(self) -> Layout:
        """How a model lies in memory."""
        return self._layout

    @property
    def initial_model(self) -> NDArray[np.float32]:
        """The model that the run's seed gives."""
        return self._initial

    def train(self, received: NDArray[np.float32], tasks: Sequence[TrainTask]) -> list[Trained]:
        """Train clients, the largest groups first."""
        self._shared["received"][...] = received
        groups = grouped(client_sizes(self._arrays, tasks), self._group_size)
        answers = self._answers(
            [
                {"do": "train", "tasks": [astuple(tasks[i]) for i in group], "slots": group}
                for group in groups
            ]
        )
        results: dict[int, Trained] = {}
        slots = np.asarray(self._shared["slots"], dtype=np.float32)
        for group, answer in zip(groups, answers, strict=True):
            for slot, values in zip(group, answer["results"], strict=True):
                results[slot] = Trained(slots[slot], *values)
        return [results[i] for i in range(len(tasks))]

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        self._shared["received"][...] = model
        questions: list[Message] = [
            {"do": "loss", "client": client, "rows": rows} for client, rows in tasks
        ]
        return [answer["loss"] for answer in self._answers(questions)]

    def evaluate(self, model: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return, for every test example, whether the model is right, and its loss."""
        self._shared["received"][...] = model
        chunks = evaluation_chunks(len(self._arrays["test_y"]))
        self._answers([{"do": "evaluate", "start": a, "stop": b} for a, b in chunks])
        return (
            np.array(self._shared["correct"], dtype=np.bool_),
            np.array(self._shared["losses"], dtype=np.float32),
        )

    def _answers(self, questions: Sequence[Message]) -> list[Message]:
        """Put questions to whoever is free, in order; return the answers in that order."""
        answers: dict[int, Message] = {}
        waiting = deque(range(len(questions)))
        deaths = [0] * len(questions)
        with selectors.DefaultSelector() as ready:
            busy: dict[int, int] = {}  # worker -> question

            def give(worker: int) -> None:
                if not waiting:
                    return
                question = waiting.popleft()
                busy[worker] = question
                self._send(worker, questions[question])
                ready.register(self._processes[worker], selectors.EVENT_READ, worker)

            for worker in range(len(self._processes)):
                give(worker)
            while busy:
                for key, _ in ready.select():
                    worker = key.data
                    ready.unregister(key.fileobj)
                    question = busy.pop(worker)
                    try:
                        answers[question] = _answer_of(self._processes[worker])
                    except ChildDied as error:
                        deaths[question] += 1
                        self._replace(worker, error, deaths[question])
                        waiting.appendleft(question)
                    give(worker)
        return [answers[i] for i in range(len(questions))]

    def _send(self, worker: int, message: Message) -> None:
        try:
            self._processes[worker].send(message)
        except ChildDied as error:  # died while idle; nothing was lost
            self._replace(worker, error, 1)
            self._processes[worker].send(message)

    def _replace(self, worker: int, error: ChildDied, deaths: int) -> None:
        if deaths >= MOST_DEATHS:
            raise TerraflError(
                f"a worker died {deaths} times at the same work ({error}): the machine may be out "
                "of memory. What was done is kept; go on with terrafl resume, or fewer --workers."
            ) from error
        _log.warning("worker %d: %s; it is replaced and its work done again", worker, error)
        self._processes[worker].close()
        self._processes[worker] = self._start()
        for message in (self._prepare, self._attach):
            self._processes[worker].send(message)
            _answer_of(self._processes[worker])


def _answer_of(process: JsonProcess) -> Message:
    """Wait for an answer; raise what went wrong over there."""
    answer = process.receive()
    if "mistake" in answer:
        raise ConfigurationError(answer["mistake"])
    if "failure" in answer:
        raise TerraflError(f"a worker failed:\n{answer['failure']}")
    return answer
