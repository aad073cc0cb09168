r"""Divide the classes of one alpha group among its clients, loosely balanced in size.

Notes
-----
*Only masked clients have a share.* At small $\alpha$ one client has nearly all of a class. If it is
masked, the other shares are 0 in floating point, and the code of the HiCS-FL authors divides 0 by
0. Here shares are logarithms, so they can always be renormalised: the result is a Dirichlet draw
over the unmasked clients, at small $\alpha$ a uniform choice of one of them. Dividing the class
evenly among them instead would contradict the one class per client of these scenarios.

*Redrawing cannot succeed.* Ten classes at $\alpha = 0.001$ reach about ten clients, so in a group
of 50 some clients always have too few examples. After :data:`MAX_REDRAWS` draws, the draw with the
smallest shortage is repaired by :func:`repair`, training examples
first; a client's missing test examples are taken from the classes that it trains on if possible.

*Tiny data sets.* If a fifth of the mean size is below 1, a client still gets 1 training example.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from terrafl.data.partition.shares import apportion, log_dirichlet, open_shares

MAX_REDRAWS = 500
"""Draws discarded before the best is repaired. In the paper's scenarios a draw succeeds with a
probability of at least about 0.02, so about one group in 25,000 needs a repair at most."""


class Dealt(NamedTuple):
    """How many examples of each class (column) each client of a group (row) gets.

    Parameters
    ----------
    train, test
        Numbers of training and of test examples.
    redraws
        Draws that were discarded.
    repaired
        Examples, training and test, that were moved after the last draw.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    redraws: int
    repaired: int


def deal(
    generator: np.random.Generator,
    alpha: float,
    clients: int,
    train_sizes: NDArray[np.int64],
    test_sizes: NDArray[np.int64],
) -> Dealt:
    r"""Divide every class by a Dirichlet draw over clients until each client has enough examples.

    1. For each class draw $q \sim \mathrm{Dir}(\alpha \mathbf{1}_m)$ over the $m$ clients; the
       same $q$ shares the class's training and test examples.
    2. Balance mask: class by class, a client that already holds $n / m$ examples or more of the
       group's $n$ gets no share, the other shares are renormalised, and the class is cut at
       the cumulative shares rounded down. Training and test are masked separately.
    3. Draw again until each client has $\lfloor 0.2\, n / m \rfloor$ examples or more, of
       training and of test both.

    Parameters
    ----------
    generator
        Draws everything.
    alpha
        Concentration, $\alpha$.
    clients
        Clients in the group, $m$.
    train_sizes, test_sizes
        The group's training and test examples per class; $m$ training examples or more in all.
    """
    least_train = max(1, int(train_sizes.sum()) // (5 * clients))
    least_test = int(test_sizes.sum()) // (5 * clients)
    fewest = int(train_sizes.sum() + test_sizes.sum()) + 1  # above any possible shortage
    draws = 0
    while fewest > 0 and draws <= MAX_REDRAWS:
        draws += 1
        laws = log_dirichlet(generator, alpha, (len(train_sizes), clients))
        train, test = _share(laws, train_sizes), _share(laws, test_sizes)
        lacking = shortage(train, least_train) + shortage(test, least_test)
        if lacking < fewest:
            best, fewest = (train, test), lacking
    train, moved_train = repair(best[0], least_train, np.ones_like(best[0]))
    test, moved_test = repair(best[1], least_test, train)
    return Dealt(train, test, draws - 1, moved_train + moved_test)


def _share(laws: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Divide classes by one distribution each, in logarithms, under the balance mask."""
    clients, total = laws.shape[1], int(sizes.sum())
    counts = np.zeros((clients, len(sizes)), dtype=np.int64)
    held = np.zeros(clients, dtype=np.int64)
    for label in np.flatnonzero(sizes):
        is_open = held * clients < total  # at least one is, or no example would be left
        counts[:, label] = apportion(int(sizes[label]), open_shares(laws[label], is_open))
        held += counts[:, label]
    return counts


def shortage(counts: NDArray[np.int64], least: int) -> int:
    """Return how many examples all clients (rows) together lack to reach the minimum size."""
    return int(np.maximum(least - counts.sum(axis=1), 0).sum())


def repair(
    counts: NDArray[np.int64], least: int, preference: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Give the clients below the minimum size examples of clients above it.

    A pile is the examples of one class that one client holds. A client can give what it holds
    beyond the minimum size. Clients below it are served in order. Each takes what it lacks from
    the pile with the largest product of spare examples and its preference for the class (from any
    pile if no preferred class is left), then from the next one. Ties go to the first client, then
    to the first class.

    Parameters
    ----------
    counts
        Examples of each class (column) that each client (row) holds.
    least
        The minimum size; all clients together hold enough examples to reach it.
    preference
        The weight of each class (column) for each client (row).

    Returns
    -------
    repaired, moved
        The new numbers, and how many examples were moved: exactly the shortage.

    Examples
    --------
    >>> repaired, moved = repair(np.array([[9, 1], [0, 0]]), 3, np.ones((2, 2), dtype=np.int64))
    >>> repaired.tolist(), moved
    ([[6, 1], [3, 0]], 3)
    """
    counts = counts.copy()
    sizes = counts.sum(axis=1)
    needy = np.flatnonzero(sizes < least)
    moved = 0
    for client in needy:
        while (lacking := least - int(sizes[client])) > 0:
            spare = np.minimum(counts, np.maximum(sizes - least, 0)[:, np.newaxis])
            wish = spare * preference[client]
            donor, label = np.unravel_index((wish if wish.any() else spare).argmax(), spare.shape)
            number = min(lacking, int(spare[donor, label]))
            counts[donor, label] -= number
            counts[client, label] += number
            sizes[donor] -= number
            sizes[client] += number
            moved += number
    return counts, moved
