"""What the loop writes down: one method per thing that happens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from terrafl.errors import TerraflError
from terrafl.federation.protocol import Evaluation, TrainResult
from terrafl.federation.record import Record
from terrafl.federation.state import RunState
from terrafl.records import Cohort, Refusal, Update
from terrafl.runs import events

MOST_EMPTY_CHOICES = 10
"""Times in a row that the selector may draw or keep nobody."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Writes events and timings with the round and iteration of the run's state.

    Parameters
    ----------
    record
        Where they are written.
    state
        Where the run stands.
    """

    record: Record
    state: RunState

    def chosen(self, cohort: Cohort, iteration: int, seconds: float) -> None:
        """Write down whom the selector chose, why, and how long that took."""
        number = self.state.round
        self.record.time(
            events.SelectionTime(round=number, iteration=iteration, seconds=round(seconds, 6))
        )
        self.why(cohort)
        if cohort:
            drawn_twice = any(draws > 1 for draws in cohort.draws)
            self.record.note(
                events.Cohort(
                    round=number,
                    iteration=iteration,
                    clients=cohort.clients,
                    draws=cohort.draws if drawn_twice else (),
                    weights=cohort.weights,
                )
            )
        elif iteration == 0:
            self.chose_nobody()

    def why(self, cohort: Cohort) -> None:
        """Write down the selector's reasons, if it gives any."""
        if cohort.why:
            self.record.note(events.decision(self.state.round, cohort.why))

    def chose_nobody(self) -> None:
        """Write down that the selector drew or kept nobody; stop a run of such choices."""
        self.not_aggregated("the selector chose nobody")
        self.state.empty_choices += 1
        if self.state.empty_choices >= MOST_EMPTY_CHOICES:
            raise TerraflError(
                f"the selector must choose a client at least once in {MOST_EMPTY_CHOICES} "
                f"iterations; it chose nobody {self.state.empty_choices} times, last in round "
                f"{self.state.round + 1}: check its settings and who is available."
            )

    def trained(self, results: Sequence[TrainResult], seconds: float) -> None:
        """Write down how long a training took, in all and per client."""
        self.record.time(
            events.IterationTime(
                round=self.state.round,
                iteration=self.state.iteration,
                train_s=round(seconds, 6),
                clients_s=[round(r.duration_s, 6) for r in results if isinstance(r, Update)],
            )
        )

    def refused(self, refusals: Sequence[Refusal]) -> None:
        """Write down whose updates are not used, and count them."""
        state = self.state
        state.costs += events.Costs(reports_refused=len(refusals))
        for refusal in refusals:
            self.record.note(
                events.Refused(
                    round=state.round,
                    iteration=state.iteration,
                    client=refusal.client_id,
                    reason=refusal.reason,
                )
            )

    def averaged(self, updates: Sequence[Update]) -> None:
        """Write down the weights of a mean."""
        self.record.note(
            events.Averaged(
                round=self.state.round,
                iteration=self.state.iteration,
                clients=[update.client_id for update in updates],
                weights=[update.weight for update in updates],
            )
        )

    def not_aggregated(self, reason: str) -> None:
        """Write down why the global model stays as it is."""
        self.record.note(
            events.NotAggregated(
                round=self.state.round, iteration=self.state.iteration, reason=reason
            )
        )

    def evaluated(
        self, evaluations: Mapping[str, Evaluation], seconds: float, *, is_last: bool
    ) -> None:
        """Write down the evaluation of every read-out, and after the last one each client's."""
        number, evaluation = self.state.round, next(iter(evaluations.values()))
        scores = {name: one.score for name, one in evaluations.items()}
        self.record.note(
            events.Evaluation(
                round=number,
                accuracy=evaluation.score,
                accuracy_participating=evaluation.score_participating,
                loss=evaluation.loss,
                costs=self.state.costs,
                metric=evaluation.metric,
                readouts=scores if len(scores) > 1 else None,
            )
        )
        if is_last:
            self.record.note(
                events.Fairness(
                    round=number,
                    tested=evaluation.tested,
                    correct=evaluation.correct,
                    score=evaluation.scores,
                )
            )
        self.record.time(events.EvaluationTime(round=number, seconds=round(seconds, 6)))
