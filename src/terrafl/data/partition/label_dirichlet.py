r"""Label skew and size skew set separately: a Dirichlet label distribution per client.

References
----------
Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated
Visual Classification", 2019.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset
from terrafl.data.partition import shares
from terrafl.data.partition.partition import Partition, numbered, require_enough
from terrafl.errors import require


@dataclass(frozen=True, slots=True)
class LabelDirichlet:
    r"""Draw a label distribution $p_k \sim \mathrm{Dir}(\alpha \mathbf{1}_C)$ per client.

    Client $k$ gets $n_k$ training examples, $n_k\, p_k(c)$ of class $c$, rounded at random. The
    examples are drawn at random, and every training example is assigned.

    Parameters
    ----------
    clients
        Number of clients, $N$.
    alpha
        Concentration, $\alpha$: small is skewed. Several values divide the clients into as many
        contiguous groups, one value each; if needed, the first groups have one client more.
    sizes
        ``"equal"``: $n_k$ differ by at most one. ``"lognormal"``: $n_k - 1$ is in proportion
        to $e^{\sigma z_k}$, $z_k \sim N(0, 1)$, independent of the skew.
    size_sigma
        $\sigma$ of lognormal sizes.

    Notes
    -----
    The paper draws examples until a class runs out, so the last clients get whatever remains. Here
    the distributions are first adjusted so that they add up to the existing labels, see
    :func:`~terrafl.data.partition.shares.tilt`; with many clients and balanced classes this changes
    them little. Rounding, and distributions at small $\alpha$ that cannot be adjusted, may still
    need more of a class than is left. Clients are served in random order; a class that is used up
    is removed from the distributions of the remaining clients, which are renormalised.
    :class:`~terrafl.data.partition.skew.Holdings` measures the result.

    A client's test examples follow its training examples: of each class's test examples it
    gets the share that it has of the class's training examples.
    """

    name: ClassVar[str] = "label-dirichlet"

    clients: int
    alpha: float | tuple[float, ...]
    sizes: Literal["equal", "lognormal"] = "equal"
    size_sigma: float = 1.0

    def __post_init__(self) -> None:
        require(self.clients >= 1, "clients", self.clients, "at least 1")
        shares.require_alphas("alpha", self._alphas(), self.clients)
        require(self.sizes in ("equal", "lognormal"), "sizes", self.sizes, "equal or lognormal")
        sigma = self.size_sigma
        require(math.isfinite(sigma) and sigma >= 0, "size_sigma", sigma, "0 or more and finite")

    def _alphas(self) -> tuple[float, ...]:
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set."""
        require_enough(dataset, self.clients, "clients")
        labels, test_labels, num_classes = dataset.labels(f"partition {self.name}")
        counts = self._counts(np.bincount(labels, minlength=num_classes), generator)
        owners = np.empty(len(labels), dtype=np.int64)
        for label, held in enumerate(counts.T):
            rows = generator.permutation(np.flatnonzero(labels == label))
            owners[rows] = np.repeat(np.arange(self.clients), held)
        test_owners = shares.follow(generator, owners, labels, test_labels, self.clients)
        return Partition.of_owners(owners, test_owners, numbered(self.clients))

    def _counts(
        self, stock: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return how many examples of each class (column) each client (row) gets."""
        sizes = self._sizes(int(stock.sum()), generator)
        alphas = self._alphas()
        alpha = np.repeat(
            np.array(alphas, dtype=np.float64), shares.even(self.clients, len(alphas))
        )
        laws = shares.log_dirichlet(generator, alpha[:, np.newaxis], (self.clients, len(stock)))
        present = stock > 0
        laws[:, present] = shares.tilt(laws[:, present], sizes, stock[present])
        counts = np.zeros((self.clients, len(stock)), dtype=np.int64)
        left = stock.copy()
        for client in generator.permutation(self.clients):
            counts[client] = _take(generator, int(sizes[client]), laws[client], left)
            left -= counts[client]
        return counts

    def _sizes(self, examples: int, generator: np.random.Generator) -> NDArray[np.int64]:
        if self.sizes == "equal":
            return shares.even(examples, self.clients)
        logs = self.size_sigma * generator.standard_normal(self.clients)
        return 1 + shares.apportion(examples - self.clients, np.exp(logs - logs.max()))


def _take(
    generator: np.random.Generator,
    size: int,
    law: NDArray[np.float64],
    stock: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Take labels by a distribution, given as logarithms, out of a stock that is large enough."""
    taken = np.zeros_like(stock)
    while wanted := size - int(taken.sum()):  # each pass but the last uses up a class
        left = stock - taken
        law_left = shares.open_shares(law, left > 0)
        taken += np.minimum(shares.apportion(wanted, law_left, generator.random()), left)
    return taken
