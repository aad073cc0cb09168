"""Power-of-choice: of a few candidates, train those with the highest loss.

References
----------
Cho, Wang and Joshi, "Towards Understanding Biased Client Selection in Federated Learning",
AISTATS 2022.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from terrafl.errors import require
from terrafl.records import Cohort, Floats, Json, Positions, Report, State
from terrafl.selection.memory import ClientMemory
from terrafl.selection.needs import Need
from terrafl.selection.protocol import Averaging, Context, Selector

Variant = Literal["pow-d", "cpow-d", "rpow-d"]


@dataclass(slots=True, kw_only=True)
class PowerOfChoice(Selector):
    r"""Draw $d$ candidates in proportion to their data and keep the $K$ with the highest loss.

    Candidates are drawn without replacement, client $k$ with probability $p_k = n_k/\sum_j n_j$.
    The cohort is averaged plainly.

    Parameters
    ----------
    variant
        Where losses come from. ``pow-d``: the current model on the candidate's whole training
        set. ``cpow-d``: on one random mini-batch. ``rpow-d``: the training loss that the
        candidate reported last, $+\infty$ if it never did; nobody is asked.
    candidates
        Candidates per round, $d \ge K$; ``"all"`` considers everybody; left out, it is
        $\min(2K, N)$.
    sample_size
        Examples in the mini-batch of ``cpow-d``, $b$.
    uniform_first_round
        Draw the first cohort uniformly, as the authors' code does.

    Notes
    -----
    Equal losses, such as those of clients that never reported, are ordered at random. The
    paper's rule has no special first round and neither has the default. A candidate that does not
    answer, or whose loss is not finite, is never taken: the cohort is then smaller. Under
    ``rpow-d`` a client whose report was refused keeps the loss it had before. Fewer than $d$
    clients in reach are all candidates.

    Examples
    --------
    >>> PowerOfChoice(variant="rpow-d", candidates="all").needs
    frozenset({'loss'})
    """

    name: ClassVar[str] = "poc"
    averaging: ClassVar[Averaging] = "plain"

    variant: Variant = "pow-d"
    candidates: int | Literal["all"] | None = None
    sample_size: int = 64
    uniform_first_round: bool = False
    _memory: ClientMemory = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        variants = get_args(Variant)
        require(self.variant in variants, "variant", self.variant, f"one of {', '.join(variants)}")
        counted = type(self.candidates) is int and self.candidates >= 1
        fits = counted or self.candidates in ("all", None)
        must = 'an integer of at least 1, "all", or left out'
        require(fits, "candidates", self.candidates, must)
        require(self.sample_size >= 1, "sample_size", self.sample_size, "an integer of at least 1")
        self._memory = ClientMemory({"loss": np.inf})

    @property
    def needs(self) -> frozenset[Need]:
        """The training loss, for ``rpow-d`` alone."""
        return frozenset({"loss"}) if self.variant == "rpow-d" else frozenset()

    def draw(self, context: Context) -> Cohort:
        """Draw candidates, learn their losses and keep the highest."""
        population = context.population
        if self.uniform_first_round and context.round == 0:
            return Cohort.of(population.names(context.draw_uniformly()))
        candidates = self._draw_candidates(context)
        if len(candidates) == 0:
            return Cohort()
        losses = self._losses(context, candidates)
        answered = ~np.isnan(losses)
        candidates, losses = candidates[answered], losses[answered]
        shuffled = context.generator.permutation(len(losses))
        order = shuffled[np.argsort(-losses[shuffled], kind="stable")]  # ties at random
        chosen = candidates[order[: context.clients_per_round]]
        shown = order[: 2 * context.clients_per_round]
        why: dict[str, Json] = {
            "event": "drawn",
            "num_candidates": len(answered),
            "unanswered": int((~answered).sum()),
            "highest": [
                {"id": client, "loss": loss if np.isfinite(loss) else None}
                for client, loss in zip(
                    population.names(candidates[shown]), losses[shown].tolist(), strict=True
                )
            ],
        }
        return Cohort.of(population.names(chosen), why)

    def _draw_candidates(self, context: Context) -> Positions:
        """Return the positions of the candidates, in the order of ids."""
        wanted = context.clients_per_round
        reachable = context.eligible()
        if self.candidates == "all":
            return reachable
        count = 2 * wanted if self.candidates is None else self.candidates  # d
        require(count >= wanted, "candidates", count, f"at least the {wanted} clients per round")
        if count >= len(reachable):
            return reachable
        return np.sort(context.draw_by_size(count))

    def _losses(self, context: Context, candidates: Positions) -> Floats:
        """Return one loss per candidate; NaN for one that may not be taken."""
        if self.variant == "rpow-d":
            self._memory.align(context.population)
            return self._memory["loss"][candidates]
        sample_size = self.sample_size if self.variant == "cpow-d" else None
        losses = context.losses(context.population.names(candidates), sample_size=sample_size)
        return np.where(np.isfinite(losses), losses, np.nan)

    def refine(self, reports: Sequence[Report], context: Context) -> Cohort:
        """Remember the reported losses and end the round: there is one iteration."""
        if self.variant == "rpow-d":
            losses = np.array([report.loss for report in reports], dtype=np.float64)
            self._memory.remember([report.client_id for report in reports], {"loss": losses})
        return Cohort()

    def state(self) -> State:
        """Return the last losses reported, under ``rpow-d``."""
        return self._memory.state()

    def restore(self, state: State) -> None:
        """Take up the last losses reported."""
        self._memory.restore(state)
