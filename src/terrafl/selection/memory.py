"""What a selector remembers about each client, as columns beside a population."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import ConfigurationError
from terrafl.records import Floats, Population, Positions, State

Ids = NDArray[np.str_]


@dataclass(slots=True, eq=False)
class ClientMemory:
    """Numbers per client, one row for every client of the population.

    Rows follow the clients by id: a population that grows keeps what is remembered, and new
    clients start from the defaults. A client that leaves the population is forgotten; one that
    is merely out of reach belongs in the population (see ``Context.available``).

    Parameters
    ----------
    defaults
        The columns of one number per client, each with the value of a client not yet heard of.
    vectors
        The columns of one vector per client; their length is settled by the first vectors
        remembered, and a client not yet heard of has zeros.

    Notes
    -----
    A column costs 8 bytes per client; the ids are those of the population, not a copy. What is
    stored by :meth:`state` follows the clients heard of, not the population.

    Examples
    --------
    >>> memory = ClientMemory({"loss": np.inf})
    >>> memory.align(Population.of({"a": 10, "b": 20}))
    >>> memory.remember(["b"], {"loss": np.array([0.5])})
    >>> memory.align(Population.of({"a": 10, "aa": 15, "b": 20}))
    >>> memory["loss"].tolist()
    [inf, inf, 0.5]
    """

    defaults: Mapping[str, float]
    vectors: tuple[str, ...] = ()
    _ids: Ids = field(init=False, repr=False)
    _columns: dict[str, Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._ids = np.array([], dtype=np.str_)
        self._columns = {name: np.empty(0) for name in self.defaults}
        self._columns |= {name: np.empty((0, 0)) for name in self.vectors}

    def __getitem__(self, name: str) -> Floats:
        """Return a column, one row per client."""
        return self._columns[name]

    def align(self, population: Population) -> None:
        """Give every client of the population its row; free when it is the same as before."""
        self._move(population.ids)

    def known(self) -> NDArray[np.bool_]:
        """Return which clients have a number that is not the default."""
        differs = np.zeros(len(self._ids), dtype=np.bool_)
        for name, default in self.defaults.items():
            column = self._columns[name]
            differs |= ~np.isnan(column) if np.isnan(default) else column != default
        return differs

    def recall(self, name: str, client_ids: Sequence[str]) -> Floats:
        """Return the numbers of these clients; the default for one not yet heard of."""
        rows, present = _find(self._ids, np.asarray(client_ids, dtype=np.str_))
        values = np.full(len(client_ids), self.defaults[name])
        values[present] = self._columns[name][rows[present]]
        return values

    def remember(self, client_ids: Sequence[str], values: Mapping[str, Floats]) -> None:
        """Overwrite the given columns of these clients, all distinct.

        A memory that was restored holds only the clients heard of; others join it here.
        """
        wanted = np.asarray(client_ids, dtype=np.str_)
        if not _find(self._ids, wanted)[1].all():
            self._move(np.union1d(self._ids, wanted))
        rows, _ = _find(self._ids, wanted)
        for name, new in values.items():
            if new.ndim == 2 and self._columns[name].shape[1] == 0:
                self._columns[name] = np.zeros((len(self._ids), new.shape[1]))
            self._columns[name][rows] = new

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Return the rows of the clients heard of, and their ids as JSON in bytes."""
        known = self.known()
        text = json.dumps(self._ids[known].tolist(), separators=(",", ":"))
        ids = np.frombuffer(text.encode(), dtype=np.uint8).copy()
        return {"clients": ids} | {name: column[known] for name, column in self._columns.items()}

    def restore(self, state: State) -> None:
        """Take up what :meth:`state` returned."""
        text = array_in(state, "clients").astype(np.uint8).tobytes()
        self._ids = np.array(json.loads(text), dtype=np.str_)
        for name in self._columns:
            self._columns[name] = array_in(state, name).astype(np.float64)

    def _move(self, ids: Ids) -> None:
        if ids is not self._ids and not np.array_equal(ids, self._ids):
            rows, stays = _find(ids, self._ids)
            for name, column in self._columns.items():
                moved = np.full((len(ids), *column.shape[1:]), self.defaults.get(name, 0.0))
                moved[rows[stays]] = column[stays]
                self._columns[name] = moved
        self._ids = ids


def _find(ids: Ids, wanted: Ids) -> tuple[Positions, NDArray[np.bool_]]:
    """Return where each id stands in the sorted ids, and whether it truly does."""
    if len(ids) == 0:
        return np.zeros(len(wanted), dtype=np.intp), np.zeros(len(wanted), dtype=np.bool_)
    rows = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return rows, ids[rows] == wanted


def array_in(state: State, name: str) -> NDArray[np.generic]:
    """Return the array of this name in a selector's state."""
    value = state.get(name)
    if not isinstance(value, np.ndarray):
        raise ConfigurationError(
            f"a selector's state must hold an array {name!r}; got {type(value).__name__}: "
            "restore it into the selector that it came from."
        )
    return value
