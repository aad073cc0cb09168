r"""The guard: it bounds what each client can do with its model and its report.

Every measure is a few lines of arithmetic over what the clients sent, so that a client's power
over the model is bounded whatever it sends:

- **recompute**: the numbers that selectors sort by are measured by the server on the update that
  was sent, not taken from the client;
- **clip**: an update longer than $c$ times the running median norm is shortened to that,

  .. math:: \theta^k \leftarrow \theta + \min\left(1, \frac{c\,\operatorname{med}_j u_j}{u_k}
            \right) (\theta^k - \theta), \quad u_k = \|\theta^k - \theta\|_2

- **cap**: a data set counts for at most $s$ times the running median size,
  $n_k \leftarrow \min(n_k, \lfloor s \operatorname{med}_j n_j \rfloor)$;
- **budget**: a client is retrained (trained again within a round) at most $b$ times in its
  newest $w$ draws; then selectors do not hear its reports, though its model still counts;
- **quarantine**: an update whose log norm lies more than $q$ robust
  standard deviations from the usual is set aside.

The running medians are over the first cohorts of the newest rounds, this one included: who is
in them is decided by the draw, once a round, and not by anything a client says.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from terrafl.defences.guard.history import Budget, Recent, Seen
from terrafl.defences.guard.updates import clipped, deviations, squared_distance
from terrafl.defences.protocol import Inspected, Iteration
from terrafl.errors import require
from terrafl.records import Report, State, Update, Vector
from terrafl.runs.events import Guarded
from terrafl.selection.needs import checkable_values, measure

_FEWEST_NORMS = 5  # with fewer, outliers cannot be detected
_TOLERANCE = 1e-3  # clients may measure in float32

Action = Literal["quarantined", "clipped", "capped", "corrected", "withheld"]
Note = Callable[[Action, str, str], None]
"""Writes down what the guard did, to which client, and why."""


@dataclass(slots=True, kw_only=True)
class Guard:
    r"""Bound what any client can do to the model and to the selection.

    Comes after the intake checks (:class:`terrafl.defences.Intake`): models are finite and of
    the right length, reports are well-formed. A number of 0 switches its measure off.

    Parameters
    ----------
    recompute
        Measure norms and final-layer updates on the model that was sent.
    clip
        Longest update, as a multiple $c$ of the running median norm.
    size_cap
        Largest data set, as a multiple $s$ of the running median size.
    known_sizes
        Use the sizes that the server knows instead, where it knows any.
    retrainings
        Retrainings allowed to one client, $b$, in the window; 0 sets no bound.
    window
        Draws of a client that its budget spans, $w$.
    quarantine
        Deviation from which an update is set aside, $q$.
    memory
        Rounds that the running medians reach back.

    Notes
    -----
    An update without a model (an empty vector, as under secure aggregation) cannot be measured:
    its norm is believed, its size is capped and its budget counted.

    The loss and the duration that a client reports cannot be measured by the server at all.
    """

    recompute: bool = True
    clip: float = 1.0
    size_cap: float = 1.25
    known_sizes: bool = False
    retrainings: int = 1
    window: int = 3
    quarantine: float = 3.5
    memory: int = 10
    _recent: Recent = field(init=False, repr=False)
    _budget: Budget = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("clip", "size_cap", "quarantine"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "a finite number of at least 0 (0: off)")
        must = "an integer of at least 0 (0: no bound)"
        require(self.retrainings >= 0, "retrainings", self.retrainings, must)
        require(self.window >= 1, "window", self.window, "an integer of at least 1")
        require(self.memory >= 1, "memory", self.memory, "an integer of at least 1")
        self._recent, self._budget = Recent(self.memory), Budget(self.window)

    def inspect(self, iteration: Iteration, updates: Sequence[Update]) -> Inspected:
        """Bound the updates of an iteration.

        An update over its retraining budget is kept, but the selector does not hear it.
        """
        events: list[Guarded] = []

        def note(action: Action, client: str, reason: str) -> None:
            when = {"round": iteration.round, "iteration": iteration.iteration}
            events.append(Guarded(**when, client=client, action=action, reason=reason))

        received = iteration.received
        norms = {
            u.client_id: math.sqrt(squared_distance(u.vector, received))
            for u in updates
            if len(u.vector)
        }
        self._remember([update.report for update in updates], norms)
        outliers = self._outliers(norms, note)
        sent = [update for update in updates if update.client_id not in outliers]
        bounded = [self._clipped(u, norms.get(u.client_id, 0.0), received, note) for u in sent]
        reported = [
            self._corrected(update, original.vector, iteration, note)
            for update, original in zip(bounded, sent, strict=True)
        ]
        heard = [replace(u, heard=u.heard and self._has_budget(u.report, note)) for u in reported]
        return Inspected(heard, (), events)

    def _corrected(self, update: Update, sent: Vector, iteration: Iteration, note: Note) -> Update:
        """Return an update whose weight and report the server can rely on.

        Numbers are measured on the update that will be averaged. A reported one that is not that
        of the update as it was sent is written down.
        """
        report, weight = self._capped(update.report, iteration, note), update.weight
        if iteration.averaging == "size" and report is not update.report:
            weight = weight * report.num_examples / update.report.num_examples
        if self.recompute and len(update.vector):
            received, layer = iteration.received, iteration.final_layer
            told = checkable_values(report)
            for need, true in measure(told, sent, received, layer).items():
                if not math.isclose(told[need], true, rel_tol=_TOLERANCE, abs_tol=1e-12):
                    reason = f"{need} {told[need]:.4g}; its update has {true:.4g}"
                    note("corrected", report.client_id, reason)
            report = report.with_values(measure(iteration.needs, update.vector, received, layer))
        return replace(update, report=report, weight=weight)

    def state(self) -> State:
        """Return what must survive a restart, between any two inspections."""
        return {
            "recent": [list(row) for row in self._recent.rows],
            "budget": {client: list(used) for client, used in self._budget.used.items()},
        }

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        recent, budget = state["recent"], state["budget"]
        assert isinstance(recent, Sequence)
        assert isinstance(budget, Mapping)
        self._recent.rows = [Seen(*row) for row in recent]  # type: ignore[misc]  # as stored
        self._budget.used = {client: list(used) for client, used in budget.items()}  # type: ignore[arg-type]  # as stored

    def _remember(self, reports: Sequence[Report], norms: Mapping[str, float]) -> None:
        first = [report for report in reports if report.iteration == 0]
        self._recent.add(
            [Seen(r.round, norms.get(r.client_id), int(r.num_examples)) for r in first]
        )
        for report in reports:
            if report.iteration == 0:
                self._budget.open_draw(report.client_id)
            else:
                self._budget.retrained(report.client_id)

    def _outliers(self, norms: Mapping[str, float], note: Note) -> set[str]:
        known = self._recent.norms()
        if not self.quarantine or not norms or np.count_nonzero(known) < _FEWEST_NORMS:
            return set()
        far = deviations(np.array(list(norms.values())), known)
        outliers = set()
        for (client, norm), deviation in zip(norms.items(), far.tolist(), strict=True):
            if deviation > self.quarantine:
                outliers.add(client)
                usual = np.median(known[known > 0])
                note("quarantined", client, f"norm of update {norm:.4g}; usual is {usual:.4g}")
        return outliers

    def _clipped(self, update: Update, norm: float, received: Vector, note: Note) -> Update:
        longest = self.clip * self._recent.median_norm()
        if longest == 0 or norm <= longest:
            return update
        reason = f"norm of update {norm:.4g}; longest is {longest:.4g}"
        note("clipped", update.client_id, reason)
        return replace(update, vector=clipped(update.vector, received, longest / norm))

    def _capped(self, report: Report, iteration: Iteration, note: Note) -> Report:
        reported, client = int(report.num_examples), report.client_id
        true, why = reported, "at most"
        if self.known_sizes:
            population = iteration.population
            true, why = int(population.sizes[population.index([client])[0]]), "the server knows"
        elif self.size_cap:
            largest = math.floor(self.size_cap * self._recent.median_size())
            true = min(reported, max(1, largest))
        if true == reported:
            return report
        note("capped", client, f"num_examples {reported}; {why} {true}")
        return replace(report, num_examples=true)

    def _has_budget(self, report: Report, note: Note) -> bool:
        spent = self._budget.spent(report.client_id)
        if not self.retrainings or spent < self.retrainings:
            return True
        reason = f"retrained {spent} times in its last {self.window} draws; at most "
        note("withheld", report.client_id, f"{reason}{self.retrainings}")
        return False
