r"""HiCS-FL: cluster clients by their estimated label entropy and prefer balanced clusters.

References
----------
Chen and Vikalo, "Heterogeneity-Guided Client Sampling: Towards Fast and Efficient Non-IID
Federated Learning", NeurIPS 2024.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import multimode
from typing import ClassVar, Literal

import numpy as np

from terrafl.errors import ConfigurationError, require
from terrafl.records import Cohort, Floats, Json, Positions, Report, State
from terrafl.selection.clustered_bins import draw_from_bins, similarity_bins
from terrafl.selection.hics.clusters import (
    direction,
    distances,
    entropy,
    row_means,
    softmax,
    ward_clusters,
)
from terrafl.selection.memory import ClientMemory
from terrafl.selection.needs import Need
from terrafl.selection.protocol import Averaging, Context, Selector


@dataclass(slots=True, kw_only=True)
class HiCSFL(Selector):
    r"""Draw a cluster by its mean label entropy, then a client in it by size; plain average.

    In a warm-up every client trains once. Then the known clients, those with an accepted report,
    are clustered by Ward's method on the rows of their distance matrix. Each of the $K$ places
    goes to cluster $m$ with probability $\pi_m \propto \exp(\gamma_t \bar H_m)$, where
    $\gamma_t = \gamma_0 (1 - t / R)$ and $\bar H_m$ is the mean estimated entropy of its clients.
    In the cluster it goes to client $k$ with probability proportional to $p_k$, without
    replacement. A client's stored update is replaced whenever it takes part.

    Parameters
    ----------
    temperature
        Temperature of the entropy estimate, $Temp$.
    entropy_weight
        Weight of the difference in entropy relative to the angle, $\lambda$.
    gamma
        Preference for balanced clusters in the first round, $\gamma_0$.
    num_clusters
        Number of clusters, $M$; $M = K$ if not given.
    compat
        ``paper``, or ``released`` for the rules of the authors' program.
    max_population
        Largest population accepted. Memory grows with its square and time with its cube: a round
        takes about a quarter of a second for 1,000 clients and 12 seconds for 3,600.

    Notes
    -----
    The warm-up draws uniformly among the unknown clients. A client that cannot be reached, or
    whose report was refused, is therefore drawn again later. Remaining places in the last round of
    the warm-up are drawn from clusters. From round $\lceil N / K \rceil$ on, at most half of a
    cohort goes to unknown clients, so that clients that never answer cannot block the training.
    An update is stored only if it has the length that most reports of the first round had; other
    reports are ignored. A cluster without a client left to draw is skipped.

    ``released`` follows the program where it differs without failing. The entropy is that of the
    row means of the weight update. The angle is that between concatenated weight and bias updates.
    Clients inside a cluster are equally likely. The warm-up lasts $\lfloor N / K \rfloor$ rounds
    in the order of ids; after it, unknown clients are drawn only if there are too few others. If
    the variance of the known clients' entropies is 0.1 or more, the places are drawn by clustered
    sampling on the same distances (:mod:`terrafl.selection.clustered_bins`); a client can then be
    drawn more than once. This direction is opposite to the paper's, and the rule differs between
    the program's versions. If there are no more clients than places, all are taken. Two things are
    not followed. The program freezes updates after the warm-up depending on the partition's
    Dirichlet parameters, which no server knows. It fails for more clusters than places, for large
    updates and for cosines rounded above 1.
    """

    name: ClassVar[str] = "hics"
    averaging: ClassVar[Averaging] = "plain"

    temperature: float = 0.0025
    entropy_weight: float = 10.0
    gamma: float = 4.0
    num_clusters: int | None = None
    compat: Literal["paper", "released"] = "paper"
    max_population: int = 10_000
    _memory: ClientMemory = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.temperature > 0, "temperature", self.temperature, "greater than 0")
        require(self.entropy_weight >= 0, "entropy_weight", self.entropy_weight, "0 or more")
        require(self.gamma >= 0, "gamma", self.gamma, "0 or more")
        clusters = self.num_clusters
        must = "an integer of at least 1, or not given"
        require(clusters is None or clusters >= 1, "num_clusters", clusters, must)
        require(self.compat in ("paper", "released"), "compat", self.compat, "paper or released")
        self._memory = ClientMemory({"entropy": np.nan}, vectors=("direction",))

    @property
    def needs(self) -> frozenset[Need]:
        """The final layer's bias update, and under ``released`` its weight update."""
        if self.compat == "released":
            return frozenset({"weight_update", "bias_update"})
        return frozenset({"bias_update"})

    def draw(self, context: Context) -> Cohort:
        """Draw unknown clients during the warm-up, and known clients from clusters."""
        if len(context.population) > self.max_population:
            raise ConfigurationError(
                f"hics accepts at most max_population = {self.max_population} clients, because "
                f"its cost grows with the cube of their number; got {len(context.population)}: "
                "raise max_population or choose another selector."
            )
        self._memory.align(context.population)
        reachable = context.eligible()
        is_known = self._memory.known()
        known, unknown = reachable[is_known[reachable]], reachable[~is_known[reachable]]
        wanted = min(context.clients_per_round, len(reachable))
        visits = self._num_visits(context, wanted, len(known), len(unknown))
        if self.compat == "released":
            visited = unknown[:visits]
        else:
            visited = context.generator.choice(unknown, size=visits, replace=False)
        guided, why = self._guide(context, known, wanted - visits)
        names = context.population.names
        why |= {"visited": sorted(names(visited))}
        return Cohort.of(names(np.concatenate([visited, guided])), {"event": "drawn", **why})

    def _num_visits(self, context: Context, wanted: int, known: int, unknown: int) -> int:
        """Return the number of places that go to unknown clients."""
        population, per_round = len(context.population), context.clients_per_round
        if self.compat == "paper":
            scheduled, later = -(-population // per_round), wanted // 2
        else:
            scheduled, later = max(1, population // per_round), 0
        most = wanted if context.round < scheduled else later
        return max(min(most, unknown), wanted - known)

    def _guide(
        self, context: Context, clients: Positions, count: int
    ) -> tuple[Positions, dict[str, Json]]:
        """Draw clients by cluster; return them and the clusters for the journal."""
        if count == 0:
            return clients[:0], {}
        variance = float(self._memory["entropy"][self._memory.known()].var())
        if self.compat == "released" and variance >= 0.1 and count < len(clients):
            why: dict[str, Json] = {"sampling": "clustered", "entropy_variance": variance}
            return self._draw_clustered(context, clients, count), why
        labels, means = self._clusters(context)
        gamma = self.gamma * max(0.0, 1 - context.progress)  # gamma_t
        sizes = context.population.sizes if self.compat == "paper" else np.ones(len(labels))
        left, drawn = clients, []
        for _ in range(count):
            present = np.unique(labels[left])
            cluster = context.generator.choice(present, p=softmax(gamma * means[present]))  # pi_m
            members = left[labels[left] == cluster]
            chances = sizes[members] / sizes[members].sum()  # p_k inside the cluster
            drawn.append(int(context.generator.choice(members, p=chances)))
            left = left[left != drawn[-1]]
        present = np.unique(labels[clients])
        chances = np.zeros(len(means))
        chances[present] = softmax(gamma * means[present])
        names = context.population.names
        clusters: list[Json] = [
            {
                "clients": int((labels == m).sum()),
                "mean_entropy": float(means[m]),
                "probability": float(chances[m]),
                "drawn": sorted(names([k for k in drawn if labels[k] == m])),
            }
            for m in range(len(means))
        ]
        return np.array(drawn, dtype=np.intp), {"gamma": gamma, "clusters": clusters}

    def _draw_clustered(self, context: Context, clients: Positions, count: int) -> Positions:
        """Draw by clustered sampling, possibly with repetition."""
        directions, entropies = (self._memory[name][clients] for name in ("direction", "entropy"))
        rows = distances(directions, entropies, self.entropy_weight)
        sizes = context.population.sizes[clients]
        bins = similarity_bins(context.generator, rows, sizes, count)
        return clients[draw_from_bins(context.generator, bins)]

    def _clusters(self, context: Context) -> tuple[Positions, Floats]:
        """Return each client's cluster, -1 if unknown, and each cluster's mean entropy."""
        known = np.flatnonzero(self._memory.known())
        entropies = self._memory["entropy"][known]
        rows = distances(self._memory["direction"][known], entropies, self.entropy_weight)
        clusters = ward_clusters(rows, self.num_clusters or context.clients_per_round)
        labels = np.full(len(context.population), -1, dtype=np.intp)
        labels[known] = clusters
        return labels, np.bincount(clusters, weights=entropies) / np.bincount(clusters)

    def refine(self, reports: Sequence[Report], context: Context) -> Cohort:
        """Store the updates of the clients that reported, and end the round."""
        signals = {report.client_id: self._signals(report) for report in reports}
        lengths = [len(angle) for _, angle in signals.values()]
        length = self._memory["direction"].shape[1] or min(multimode(lengths), default=0)
        fitting = {k: signal for k, signal in signals.items() if len(signal[1]) == length}
        if fitting:
            entropies = [entropy(classes, self.temperature) for classes, _ in fitting.values()]
            directions = [direction(angle) for _, angle in fitting.values()]
            learnt = {"entropy": np.array(entropies), "direction": np.array(directions)}
            self._memory.remember(list(fitting), learnt)
        return Cohort()

    def _signals(self, report: Report) -> tuple[Floats, Floats]:
        """Return the update that gives the entropy and the update that gives the angle."""
        bias = np.ravel(np.asarray(report.bias_update, dtype=np.float64))
        if self.compat == "paper":
            return bias, bias
        weight = np.atleast_1d(np.asarray(report.weight_update, dtype=np.float64))
        return row_means(weight), np.concatenate([weight.ravel(), bias])

    def state(self) -> State:
        """Return the entropy and direction of each known client."""
        return self._memory.state()

    def restore(self, state: State) -> None:
        """Restore the entropies and directions."""
        self._memory.restore(state)
