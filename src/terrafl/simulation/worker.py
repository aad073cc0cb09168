"""A worker process of the pool: trains what its parent asks for, into shared memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from terrafl.simulation.executor import train_or_fail
from terrafl.simulation.job import Job, Trained, TrainTask, Vectors, Work
from terrafl.simulation.memory import SharedMemory, places_of
from terrafl.simulation.process import Message, serve
from terrafl.simulation.trainer import Trainer


@dataclass(slots=True)
class Worker:
    """Answers the messages of :class:`terrafl.simulation.pool.Pool`."""

    memory: SharedMemory | None = None
    trainer: Trainer | None = None
    shared: dict[str, NDArray[np.generic]] | None = None

    def __call__(self, message: Message, answer: Callable[[Message], None]) -> None:
        """Do what the message asks."""
        handler = getattr(self, f"_{message['do']}")
        answer(handler(**{key: value for key, value in message.items() if key != "do"}))

    def _prepare(self, memory: int, job: Message, data: dict[str, list[object]]) -> Message:
        """Take up the job; tell what a model looks like."""
        torch.set_num_threads(1)
        self.memory = SharedMemory(memory)
        self.trainer = Trainer(Job.from_plain(job), self.memory.view(places_of(data)))
        layout = self.trainer.network.layout
        return {
            "parameters": [(entry.name, entry.shape) for entry in layout.parameters],
            "buffers": [(entry.name, entry.shape) for entry in layout.buffers],
            "final_layer": layout.final_layer,
            "group_size": self.trainer.group_size,
        }

    def _attach(self, models: dict[str, list[object]]) -> Message:
        """Map the memory for models."""
        assert self.memory is not None
        self.shared = self.memory.view(places_of(models))
        return {}

    def _initialise(self) -> Message:
        """Leave the run's initial model where models are received."""
        trainer, shared = self._ready()
        shared["received"][...] = trainer.network.to_numpy()
        return {}

    def _train(self, tasks: list[Message], slots: list[int], given: list[bool]) -> Message:
        trainer, shared = self._ready()
        algorithm = trainer.job.algorithm
        work = Work(
            received=np.asarray(shared["received"], dtype=np.float32),
            tasks=[TrainTask(**task) for task in tasks],
            shared=_named(algorithm.shares, shared["shared"][0]),
            given=[
                _named(algorithm.gives, shared["given"][slot]) if has_vectors else {}
                for slot, has_vectors in zip(slots, given, strict=True)
            ],
        )
        answers: list[Message] = []
        results = train_or_fail(trainer.train, work, trainer.job.on_client_failure)
        for slot, result in zip(slots, results, strict=True):
            if isinstance(result, Trained):
                shared["slots"][slot] = result.vector
                answers.append(result.to_message())
            else:
                answers.append({"failure": result.reason})
        return {"results": answers}

    def _loss(self, client: int, rows: list[int] | None) -> Message:
        trainer, shared = self._ready()
        received = np.asarray(shared["received"], dtype=np.float32)
        return {"loss": trainer.loss(received, client, rows)}

    def _evaluate(self, start: int, stop: int) -> Message:
        trainer, shared = self._ready()
        received = np.asarray(shared["received"], dtype=np.float32)
        statistics, losses = trainer.evaluate(received, start, stop)
        shared["statistics"][start:stop] = statistics
        shared["losses"][start:stop] = losses
        return {}

    def _ready(self) -> tuple[Trainer, dict[str, NDArray[np.generic]]]:
        assert self.trainer is not None
        assert self.shared is not None
        return self.trainer, self.shared


def _named(names: Sequence[str], vectors: NDArray[np.generic]) -> Vectors:
    """Return the vectors of an algorithm that the parent has left in shared memory."""
    return dict(zip(names, np.asarray(vectors, dtype=np.float32), strict=True))


if __name__ == "__main__":
    serve(Worker())
