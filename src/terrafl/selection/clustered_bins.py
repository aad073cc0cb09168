r"""Clustered sampling: $m$ distributions over clients that together are unbiased.

Client $i$ with $n_i$ of $M$ examples has $m n_i$ units, and each of the $m$ bins holds $M$ units.
One client is drawn from each bin in proportion to its units there, so that client $i$ is drawn
$m n_i / M$ times in expectation. All units are exact integers.

References
----------
Fraboni et al., "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021.
"""

import numpy as np
from numpy.typing import NDArray

from terrafl.records import Floats, Positions

Units = NDArray[np.int64]


def similarity_bins(
    generator: np.random.Generator, rows: Floats, sizes: Units, num_bins: int
) -> Units:
    r"""Return the units of each client in each bin, shape (bins, clients), by Algorithm 2.

    Clients are clustered by Ward's method on the rows as points. The tree is cut into the largest
    clusters of at most $M$ units. The $m$ heaviest clusters open the bins. The others are poured
    into the bins, the lightest cluster first, in random order inside a cluster.

    Parameters
    ----------
    generator
        Source of the random order.
    rows
        One row per client, such as its distances to all clients.
    sizes
        Examples of each client, $n_i$.
    num_bins
        Number of bins, $m$.

    Notes
    -----
    A client with $m n_i \ge M$ fills $\lfloor m n_i / M \rfloor$ bins alone, and the rest of its
    units is clustered. The paper excludes this case.
    """
    capacity = int(sizes.sum())  # M
    whole, units = np.divmod(num_bins * sizes, capacity)
    alone = np.repeat(np.arange(len(sizes)), whole)
    bins = np.zeros((num_bins, len(sizes)), dtype=np.int64)
    bins[np.arange(len(alone)), alone] = capacity
    clusters = _cut(rows, units, capacity)
    lightest_first = np.argsort([units[cluster].sum() for cluster in clusters], kind="stable")
    num_poured = len(clusters) - (num_bins - len(alone))
    for row, i in enumerate(lightest_first[num_poured:], start=len(alone)):
        bins[row, clusters[i]] = units[clusters[i]]
    poured = [generator.permutation(clusters[i]) for i in lightest_first[:num_poured]]
    pour(bins, np.concatenate([alone[:0], *poured]), units, capacity)
    return bins


def pour(bins: Units, clients: Positions, units: Units, capacity: int) -> None:
    """Fill the bins in order with the units of these clients, in order, up to the capacity."""
    room = np.cumsum(capacity - bins.sum(axis=1))
    # The first j bins hold min(room_j, supply_i) units of the first i clients.
    held = np.minimum.outer(room, np.cumsum(units[clients]))
    bins[:, clients] += np.diff(np.diff(held, axis=0, prepend=0), axis=1, prepend=0)


def draw_from_bins(generator: np.random.Generator, bins: Units) -> Positions:
    """Draw one client from each bin, in proportion to its units; repetitions are possible."""
    drawn = [generator.choice(len(units), p=units / units.sum()) for units in bins]
    return np.array(drawn, dtype=np.intp)


def _cut(rows: Floats, units: Units, capacity: int) -> list[Positions]:
    """Return the largest clusters of Ward's tree that have at most ``capacity`` units."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    if len(rows) == 1:
        return [np.zeros(1, dtype=np.intp)]
    tree, masses = linkage(pdist(rows), "ward"), units.tolist()
    for merge in tree:  # heights become masses: floats are exact below 2^53
        masses.append(masses[int(merge[0])] + masses[int(merge[1])])
        merge[2] = masses[-1]
    labels = fcluster(tree, capacity, "distance")
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]
