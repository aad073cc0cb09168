"""The worker pool: one process per core, data and models in shared memory.

Messages carry names and numbers; arrays never travel. A worker that dies is replaced and its
work done again, with the same result, since results depend on the task alone.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Self

import numpy as np
from numpy.typing import NDArray

from terrafl.models import Layout
from terrafl.records import Refusal
from terrafl.simulation.executor import LossTask, evaluation_pieces, grouped
from terrafl.simulation.job import Arrays, Job, Trained, Work, client_sizes
from terrafl.simulation.memory import SharedMemory
from terrafl.simulation.process import ChildDied, Message
from terrafl.simulation.process_group import MOST_DEATHS, ProcessGroup


class Pool:
    """Workers in separate processes.

    The processes start when the pool is made, so that they load torch while the caller loads
    data; :meth:`open` gives them their job.

    Parameters
    ----------
    num_workers
        How many.
    """

    def __init__(self, num_workers: int) -> None:
        self._memory = SharedMemory()
        self._processes = ProcessGroup(
            "terrafl.simulation.worker", num_workers, [self._memory.descriptor]
        )

    def open(self, job: Job, arrays: Arrays, most_clients: int) -> Self:
        """Share the data and prepare everyone.

        Parameters
        ----------
        job
            What to train.
        arrays
            The data; copied into shared memory once.
        most_clients
            Largest cohort that is expected.
        """
        self._arrays = arrays
        self._on_client_failure = job.on_client_failure
        self._algorithm = job.algorithm
        self._num_statistics = len(job.task.statistics_names)
        network = self._processes.prepare(
            {
                "do": "prepare",
                "memory": self._memory.descriptor,
                "job": job.to_plain(),
                "data": self._memory.store(arrays),
            }
        )
        self._group_size: int = network["group_size"]
        self.layout = Layout.of(
            [(name, tuple(shape)) for name, shape in network["parameters"]],
            [(name, tuple(shape)) for name, shape in network["buffers"]],
            network["final_layer"],
        )
        self._make_room(most_clients)
        self._processes.ask([{"do": "initialise"}])
        self.initial_model = np.array(self._shared["received"], dtype=np.float32)
        return self

    def _make_room(self, num_clients: int) -> None:
        """Share memory for a received model, that many trained ones, and an evaluation."""
        size, num_test = self.layout.size, len(self._arrays["test_y"])
        places = self._memory.allocate(
            {
                "received": ("<f4", (size,)),
                "slots": ("<f4", (num_clients, size)),
                "shared": ("<f4", (1, len(self._algorithm.shares), size)),
                "given": ("<f4", (num_clients, len(self._algorithm.gives), size)),
                "statistics": ("<f8", (num_test, self._num_statistics)),
                "losses": ("<f4", (num_test,)),
            }
        )
        self._processes.prepare({"do": "attach", "models": places})
        self._shared = self._memory.view(places)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._processes.__exit__(*exception)
        self._memory.close()

    @property
    def pids(self) -> list[int]:
        """The workers' process ids."""
        return self._processes.pids

    def train(self, work: Work) -> list[Trained | Refusal]:
        """Train clients, the largest groups first."""
        tasks = work.tasks
        if len(tasks) > len(self._shared["slots"]):  # a selector that draws more than K
            self._make_room(len(tasks))
        self._shared["received"][...] = work.received
        for i, name in enumerate(self._algorithm.shares):
            self._shared["shared"][0, i] = work.shared[name]
        for slot, vectors in enumerate(work.given):
            for name, vector in vectors.items():
                self._shared["given"][slot, self._algorithm.gives.index(name)] = vector
        results = self._trained(work, grouped(client_sizes(self._arrays, tasks), self._group_size))
        deadly = [slot for slot, result in results.items() if isinstance(result, ChildDied)]
        if deadly and self._group_size > 1:  # one of each group may be to blame
            results |= self._trained(work, [[slot] for slot in deadly])
        return [
            Refusal(tasks[slot].client_id, f"training killed {MOST_DEATHS} workers ({result.how})")
            if isinstance(result, ChildDied)
            else result
            for slot, result in sorted(results.items())
        ]

    def _trained(
        self, work: Work, groups: Sequence[Sequence[int]]
    ) -> dict[int, Trained | Refusal | ChildDied]:
        """Return the result of every task in these groups, by its position."""
        deaths: dict[int, ChildDied] = {}

        def give_up(index: int, death: ChildDied) -> Message:
            deaths[index] = death
            return {}

        answers = self._processes.ask(
            [
                {
                    "do": "train",
                    "tasks": [asdict(work.tasks[slot]) for slot in group],
                    "slots": group,
                    "given": [bool(work.given_to(slot)) for slot in group],
                }
                for group in groups
            ],
            give_up=give_up if self._on_client_failure == "drop" else None,
        )
        results: dict[int, Trained | Refusal | ChildDied] = {}
        slots = np.asarray(self._shared["slots"], dtype=np.float32)
        for index, (group, answer) in enumerate(zip(groups, answers, strict=True)):
            if index in deaths:
                results |= dict.fromkeys(group, deaths[index])
                continue
            for slot, values in zip(group, answer["results"], strict=True):
                failure = values.get("failure")
                results[slot] = (
                    Refusal(work.tasks[slot].client_id, failure)
                    if failure
                    else Trained(slots[slot], **values)
                )
        return results

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        self._shared["received"][...] = model
        questions: list[Message] = [
            {"do": "loss", "client": client, "rows": rows} for client, rows in tasks
        ]
        return [answer["loss"] for answer in self._processes.ask(questions)]

    def evaluate(
        self, model: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return the task's statistics, (n, S), and the loss for every test example."""
        self._shared["received"][...] = model
        pieces = evaluation_pieces(len(self._arrays["test_y"]), self.layout, len(self._processes))
        self._processes.ask([{"do": "evaluate", "start": a, "stop": b} for a, b in pieces])
        return (
            np.array(self._shared["statistics"], dtype=np.float64),
            np.array(self._shared["losses"], dtype=np.float32),
        )
