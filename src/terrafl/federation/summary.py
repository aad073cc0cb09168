"""The summary of a finished run."""

from collections.abc import Mapping
from dataclasses import asdict

from terrafl.federation.state import RunState
from terrafl.runs import Labels, Summary


def summarise(
    labels: Labels,
    state: RunState,
    *,
    num_rounds: int,
    versions: Mapping[str, str],
    metric: str = "accuracy",
) -> Summary:
    """Return what came out of a run; it must have been evaluated.

    Parameters
    ----------
    labels
        What the run is called.
    state
        Where it ended.
    num_rounds
        Rounds planned.
    versions
        Of what the result depends on.
    metric
        The name of the score.
    """
    accuracies = [point.accuracy for point in state.curve]
    newest = accuracies[-10:]
    return Summary(
        **asdict(labels),
        rounds=state.round,
        stopped="rounds" if state.round >= num_rounds else "patience",
        **asdict(state.costs),
        accuracy=accuracies[-1],
        accuracy_participating=state.accuracy_participating,
        best=max(accuracies),
        mean_last_ten=sum(newest) / len(newest),
        curve=tuple(state.curve),
        points=tuple(state.points),
        versions=dict(versions),
        metric=metric,
    )
