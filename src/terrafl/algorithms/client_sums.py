"""Vectors per client, with their sums over all clients."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.protocol import RunFacts
from terrafl.records import State, Vector


class ClientSums:
    """The state of an algorithm that uses a mean of its clients' vectors.

    Sums are kept, not means: an algorithm divides by the number of clients that it knows when it
    uses a sum. A client that has not taken part yet counts as 0. The part of a vector that
    belongs to buffers, which are not trained, is always 0.

    Parameters
    ----------
    run
        The run that begins.
    names
        Names of the vectors.
    """

    def __init__(self, run: RunFacts, *names: str) -> None:
        self._clients = run.client_vectors(names)
        self._num_parameters = run.num_parameters
        self._sums: dict[str, NDArray[np.float64]] = {n: np.zeros(len(run.model)) for n in names}
        self._weights: dict[str, float] = {}  # by client, as they were when its vectors came

    def get(self, client_id: str) -> Mapping[str, Vector]:
        """Return a client's vectors by name."""
        return self._clients.get(client_id)

    def sum(self, name: str) -> NDArray[np.float64]:
        """Return the weighted sum of a vector over all clients."""
        return self._sums[name]

    def put(
        self,
        client_id: str,
        vectors: Mapping[str, NDArray[np.floating]],
        weight: float = 1.0,
        weighted: str = "",
    ) -> None:
        """Replace a client's vectors.

        Parameters
        ----------
        client_id
            The client.
        vectors
            By name.
        weight, weighted
            Weight of the client in the sum of the vector of that name; it may change from one
            time to the next.
        """
        old, new = self.get(client_id), {}
        for name, vector in vectors.items():
            new[name] = vector.astype(np.float32, copy=False)
            new[name][self._num_parameters :] = 0
            before = self._weights.get(client_id, 1.0) if name == weighted else 1.0
            now = weight if name == weighted else 1.0
            self._sums[name] += np.multiply(new[name], now, dtype=np.float64)
            self._sums[name] -= np.multiply(old[name], before, dtype=np.float64)
        self._weights[client_id] = weight
        self._clients.put(client_id, new)

    def state(self) -> State:
        """Return the sums, and where the clients' vectors are."""
        return {**self._sums, "weights": self._weights, "clients": self._clients.state()}  # type: ignore[dict-item]  # JSON

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        self._sums = {name: state[name] for name in self._sums}  # type: ignore[misc]  # as stored
        self._weights = dict(state["weights"])  # type: ignore[arg-type]  # as stored
        self._clients.restore(state["clients"])  # type: ignore[arg-type]  # as stored
