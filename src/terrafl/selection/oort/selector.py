r"""Oort: prefer clients with a high statistical utility that are fast enough.

With rounds counted from 1, the utility of client $i$ in round $R$ is

.. math::
    \left( \min\left(|B_i| \sqrt{\tfrac{1}{|B_i|} \sum_{b \in B_i} loss(b)^2},\ clip\right)
    + \sqrt{\frac{0.1 \ln R}{L_i}} \right) \times \left(\frac{T}{t_i}\right)^{\alpha [t_i > T]}

where $B_i$ is the client's training set, $L_i$ the round in which it last took part, $t_i$ its
duration and $T$ the preferred duration.

References
----------
Lai et al., "Oort: Efficient Federated Learning via Guided Participant Selection", OSDI 2021.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require
from terrafl.records import Cohort, Floats, Json, Positions, Report, State
from terrafl.selection.memory import ClientMemory, array_in
from terrafl.selection.needs import Need
from terrafl.selection.oort.draw import Picks, Standing, draw_by_weight, fastest, num_places, pick
from terrafl.selection.oort.pacer import Durations, Pacer, durations_s
from terrafl.selection.oort.presets import PRESETS, OortRules, Preset
from terrafl.selection.oort.utility import (
    below_cap,
    clip,
    exploration_share,
    rescale,
    straggler_factor,
    temporal_uncertainty,
)
from terrafl.selection.protocol import Context, Selector


@dataclass(slots=True, kw_only=True)
class Oort(Selector):
    r"""Exploit the clients with the highest utility and explore clients that never took part.

    Of the $K$ places, $\lfloor (1 - \varepsilon) K \rfloor$ go to explored clients. Clients whose
    utility is at least the share $c$ (the cut-off) of the utility at that rank are admitted, and
    drawn in proportion to utility. The other places go to unexplored clients, in proportion to
    their speed $1/t$. The cohort is averaged by size.

    Parameters
    ----------
    preset
        The constants and formulas: the paper's, or those of a published program.
    durations
        The durations of clients: ``equal``, ``seeded``, ``measured`` or seconds by client id; see
        :func:`terrafl.selection.oort.pacer.durations_s`.
    speed_seed
        Seed of the ``seeded`` durations.
    exploration, exploration_decay, exploration_min, cut_off, clip_quantile, penalty
        Override the preset; see :class:`terrafl.selection.oort.presets.OortRules`.
    max_participations
        Override the preset's limit; ``"unlimited"`` removes it.

    Notes
    -----
    The paper leaves some cases open. $T$ starts at $\Delta$, and both are in units of the median
    duration. The pacer compares at the end of each window of $W = 20$ rounds, not in every round.
    Places that one of the two groups cannot fill go to the other group. A client has taken part
    when its report was accepted. If ``max_participations`` would leave too few clients for a
    cohort, the limit is raised to its next multiple for all clients. ``measured`` durations differ
    between equal runs, and so do the cohorts.

    The presets ``oort-repo``, ``fedscale`` and ``hics`` follow the published programs. Utilities
    are rescaled to about [0, 1] before the temporal term is added. Its round $R$ counts from the
    end of the random rounds, while $L$ counts all rounds. The cut-off is taken one rank later.
    Unexplored clients are drawn by size among the largest. Remaining places are filled uniformly.
    $T$ is a percentile; the pacer sums each round's mean utility of the exploited clients. With
    overcommitment, more than $K$ clients are drawn and the $K$ fastest are kept before training
    starts; the others count as explored, with the round's mean utility.

    ``fedscale`` exploits $K - \lfloor \varepsilon K \rfloor$ places and admits at least ten times
    as many clients and one more. Its $\varepsilon$ stays above 0 when nobody is unexplored; these
    places stay empty, and the cohort can be smaller than $K$. ``hics`` draws its first 25 rounds
    by size and uses the mean loss; its decay is that of CIFAR-10 (Mini-ImageNet:
    ``exploration_decay=0.95``).

    Some things differ from the programs. They estimate the loss by a moving average over the first
    epoch or by the last batch only. They overcommit the first random round too. ``oort-repo`` gives
    all clients the same weight in the average, and its $\varepsilon$ falls to 0 one round later.
    FedScale's program repeats the last explored clients when nobody is unexplored.
    """

    name: ClassVar[str] = "oort"

    preset: Preset = "paper"
    durations: Durations = "equal"
    speed_seed: int = 0
    exploration: float | None = None
    exploration_decay: float | None = None
    exploration_min: float | None = None
    cut_off: float | None = None
    clip_quantile: float | None = None
    penalty: float | None = None
    max_participations: int | Literal["unlimited"] | None = None
    _rules: OortRules = field(init=False, repr=False, compare=False)
    _memory: ClientMemory = field(init=False, repr=False, compare=False)
    _pacer: Pacer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.preset in PRESETS, "preset", self.preset, f"one of {', '.join(PRESETS)}")
        _check_durations(self.durations)
        self._rules = self._overridden(PRESETS[self.preset])
        columns = {"utility": 0.0, "last_round": 0.0, "participations": 0.0}
        columns |= {"duration_s": np.nan} if self.durations == "measured" else {}
        # Roles in the draw whose reports are awaited; ``idle``: drawn, but too slow to run.
        columns |= {} if self._rules.formula == "paper" else {"exploited": 0.0, "idle": 0.0}
        self._memory = ClientMemory(columns)
        self._pacer = Pacer(self._rules.preference)

    def _overridden(self, preset: OortRules) -> OortRules:
        names = {rule.name for rule in fields(preset)} & {setting.name for setting in fields(self)}
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.max_participations == "unlimited":
            given["max_participations"] = None
        return replace(preset, **given)

    @property
    def needs(self) -> frozenset[Need]:
        """The loss that the utility is computed from, and durations if they are measured."""
        needs: set[Need] = {self._rules.loss}
        return frozenset(needs | {"duration_s"} if self.durations == "measured" else needs)

    def smallest_cohort(self, clients_per_round: int) -> int:
        """Return the smallest size of a cohort; under ``fedscale`` places can stay empty."""
        if self._rules.formula != "fedscale":
            return clients_per_round
        exploration = max(self._rules.exploration, self._rules.exploration_min)
        wanted = int(clients_per_round * self._rules.overcommit)
        return min(clients_per_round, num_places(wanted, exploration, self._rules))

    def draw(self, context: Context) -> Cohort:
        """Draw the cohort: exploited and explored clients."""
        rules, population = self._rules, context.population
        self._memory.align(population)
        if context.round < rules.warm_up_rounds:
            return self._warm_up(context)
        self._pacer.begin(context.round + 1 - max(1, rules.warm_up_rounds), rules)
        measured = self._memory["duration_s"] if self.durations == "measured" else np.empty(0)
        durations = durations_s(self.durations, population, self.speed_seed, measured)
        preferred_s = self._pacer.preferred_s(durations, rules)  # T
        wanted = int(context.clients_per_round * rules.overcommit)
        standing = self._standing(context, wanted, durations, preferred_s)
        exploration = exploration_share(context.round + 1, rules)
        if len(standing.unexplored) == 0 and rules.formula != "fedscale":
            exploration = 0.0
        drawn = pick(context.generator, standing, wanted, exploration, rules)
        picks = fastest(context.generator, drawn, durations, context.clients_per_round)
        if rules.formula != "paper":
            self._await(drawn, picks)
        why: dict[str, Json] = {
            "event": "drawn",
            "exploration": exploration,
            "preferred_duration_s": preferred_s if np.isfinite(preferred_s) else None,
        }
        why |= {name: sorted(population.names(part)) for name, part in picks._asdict().items()}
        return Cohort.of(population.names(np.concatenate(picks)), why)

    def _await(self, drawn: Picks, kept: Picks) -> None:
        """Note the roles of the clients that were drawn, for :meth:`refine`."""
        self._memory["exploited"][:] = self._memory["idle"][:] = 0.0
        self._memory["exploited"][drawn.exploited] = 1.0
        self._memory["idle"][np.setdiff1d(np.concatenate(drawn), np.concatenate(kept))] = 1.0

    def _warm_up(self, context: Context) -> Cohort:
        reachable = context.eligible()
        if self._rules.warm_up == "uniform" or len(reachable) == 0:
            drawn = context.draw_uniformly()
        else:
            weights = context.population.sizes[reachable].astype(np.float64)
            count = min(context.clients_per_round, len(reachable))
            drawn = draw_by_weight(context.generator, reachable, weights, count)
        return Cohort.of(context.population.names(drawn), {"event": "drawn", "phase": "warm-up"})

    def _standing(
        self, context: Context, wanted: int, durations: Floats, preferred_s: float
    ) -> Standing:
        """Return the clients that may be drawn, with their utilities or weights."""
        rules, sizes = self._rules, context.population.sizes
        clients = context.eligible()
        large = sizes[clients] >= rules.min_examples
        if large.sum() >= wanted:
            clients = clients[large]
        participations = self._memory["participations"]
        clients = clients[below_cap(participations[clients], wanted, rules)]
        tried = participations[clients] > 0
        explored, unexplored = clients[tried], clients[~tried]
        factors = straggler_factor(durations, preferred_s, rules.penalty)
        if rules.formula == "paper":
            appeals = 1.0 / durations[unexplored]
        else:
            appeals = sizes[unexplored] * factors[unexplored]
        utilities = self._utilities(context.round + 1, explored, sizes[unexplored])
        return Standing(explored, utilities * factors[explored], unexplored, appeals)

    def _utilities(self, now: int, explored: Positions, other_sizes: NDArray[np.int64]) -> Floats:
        """Return the utility of explored clients, without the straggler factor."""
        rules, utilities = self._rules, self._memory["utility"][explored]
        if len(explored) == 0:
            return utilities
        if rules.formula == "paper":
            statistical = np.minimum(utilities, clip(utilities, rules.clip_quantile))
        else:
            rewards = np.concatenate([utilities, other_sizes])
            statistical = rescale(utilities, rewards, rules.clip_quantile)
        last_rounds = self._memory["last_round"][explored]
        total = statistical + temporal_uncertainty(now - rules.warm_up_rounds, last_rounds)
        return np.abs(total) if rules.formula == "fedscale" else total

    def refine(self, reports: Sequence[Report], context: Context) -> Cohort:
        """Store utilities and durations, and end the round: there is one iteration."""
        ids = [report.client_id for report in reports]
        sizes = np.array([report.num_examples for report in reports], dtype=np.float64)
        losses = np.array([r.value(self._rules.loss) for r in reports], dtype=np.float64)
        utilities = sizes * np.sqrt(losses)  # |B| sqrt(mean of squared losses)
        learnt = {
            "utility": utilities,
            "last_round": np.array([report.round + 1 for report in reports], dtype=np.float64),
            "participations": self._memory.recall("participations", ids) + 1,
        }
        if self.durations == "measured":
            learnt["duration_s"] = np.array([r.duration_s for r in reports], dtype=np.float64)
        self._memory.remember(ids, learnt)
        if self._rules.formula == "paper":
            self._pacer.current += float(utilities.sum())
        else:
            self._settle(ids, utilities, context.round)
        return Cohort()

    def _settle(self, ids: Sequence[str], utilities: Floats, number: int) -> None:
        """Give idle clients the mean utility, and the pacer that of the exploited clients."""
        memory, mean = self._memory, float(utilities.mean()) if len(ids) else 0.0
        idle, late = memory["idle"] > 0, self._rules.formula == "fedscale"
        memory["utility"][idle] = mean
        memory["last_round"][idle] = number + 1 + late  # FedScale counts the round up before
        memory["participations"][idle] += 1
        reported = utilities[memory.recall("exploited", ids) > 0]
        num_idle = int(memory["exploited"][idle].sum())
        total = float(reported.sum()) + num_idle * mean
        self._pacer.current += total / (len(reported) + num_idle + 1e-4)  # 1e-4 as the programs
        memory["exploited"][:] = memory["idle"][:] = 0.0

    def state(self) -> State:
        """Return the stored values of each client, and the pacer's state."""
        return {"pacer": np.array(astuple(self._pacer)), **self._memory.state()}

    def restore(self, state: State) -> None:
        """Restore the stored values and the pacer."""
        self._pacer = Pacer(*array_in(state, "pacer").tolist())
        self._memory.restore(state)


def _check_durations(durations: Durations) -> None:
    if isinstance(durations, Mapping):
        for client, seconds in durations.items():
            must = "a finite number of seconds above 0"
            require(0 < seconds < np.inf, f"durations[{client!r}]", seconds, must)
    else:
        must = "equal, seeded, measured, or seconds by client id"
        require(durations in ("equal", "seeded", "measured"), "durations", durations, must)
