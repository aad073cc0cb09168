"""The summary of a run, from which reports and tables are made."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple, Self

from terrafl.errors import RunFolderError
from terrafl.runs.checks import check_of, checked, parse_object, parsed
from terrafl.runs.config_file import Plain, read_config_file
from terrafl.runs.events import Costs


class Point(NamedTuple):
    """One evaluation on the curve of a run."""

    round: int
    """Rounds completed."""
    client_updates: int
    samples: int
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a run is called; written into its configuration and its summary.

    Parameters
    ----------
    dataset, scenario, model, selector, algorithm, seed
        What is run; ``scenario`` is empty for a user's own configuration.
    profile
        The sweep's profile (``paper``, ``laptop``, ``smoke``), empty outside a sweep.
    variant
        The selector's settings that differ from its defaults, empty if none does.
    algorithm_variant
        The algorithm's settings that differ from its defaults, and the half-life of server
        averaging, empty if there are none.
    experiment
        Digest of all settings but seed and selector: runs that may be compared share it.
    """

    dataset: str
    scenario: str
    model: str
    selector: str
    algorithm: str
    seed: int
    profile: str
    variant: str
    algorithm_variant: str = ""
    experiment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Labels):
    """The labels, the results and the costs of a run.

    Parameters
    ----------
    rounds
        Rounds completed.
    stopped
        ``rounds`` when all were run, ``patience`` when accuracy had saturated.
    client_updates
        Local trainings of one client.
    samples_trained
        Examples seen in local training, every epoch counted.
    loss_queries, samples_queried
        Clients asked for their loss before they were chosen, and the examples evaluated.
    bytes_down, bytes_up
        Network traffic: models down, models and reports up.
    reports_refused
        Client reports that were rejected.
    samples_forwarded
        Examples passed forward through further models in local training, which an algorithm such
        as MOON needs.
    accuracy
        Accuracy of the global model on the pooled test set after the last round.
    accuracy_participating
        Mean accuracy on the test data of the last round's participating clients.
    best
        Highest pooled accuracy of any evaluation; for information, never a result.
    mean_last_ten
        Mean pooled accuracy of the last ten evaluations.
    curve
        Every evaluation.
    points
        Every evaluation with all that was spent until then: ``round``, ``step`` (aggregations),
        ``client_updates``, ``samples``, ``bytes``, ``score``, and ``score_NAME`` for each read-out
        where there is more than one.
    versions
        Versions of what the result depends on.
    metric
        The name of the score that the accuracies are, such as ``r2``; left out of the file where
        it is ``accuracy``.
    """

    rounds: int
    stopped: str
    client_updates: int
    samples_trained: int
    loss_queries: int
    samples_queried: int
    bytes_down: int
    bytes_up: int
    reports_refused: int
    accuracy: float
    accuracy_participating: float
    best: float
    mean_last_ten: float
    curve: tuple[Point, ...]
    versions: Mapping[str, str]
    samples_forwarded: int = 0
    points: tuple[Mapping[str, float], ...] = ()
    metric: str = "accuracy"

    def to_json(self) -> bytes:
        """Return the file's content."""
        plain = asdict(self)
        plain["experiment"] = plain.pop("experiment")  # the last key, as in older files
        metric = plain.pop("metric")
        if metric != "accuracy":
            plain["metric"] = metric
        return json.dumps(plain, indent=1, allow_nan=False).encode() + b"\n"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a summary file."""
        try:
            return parsed(cls, parse_object(path.read_bytes()))
        except OSError as error:
            raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise RunFolderError(
                f"{path} must be the summary of a terrafl run; it is damaged or something else "
                f"({error})."
            ) from error

    @classmethod
    def initial(cls, config: Path) -> Self:
        """Return the summary of a run that has just started, from its configuration file.

        The names come from the table ``[labels]``. Older runs do not have it: they go by the names
        in their settings, with an empty variant and experiment. Nothing that the configuration
        names is imported.

        Raises
        ------
        RunFolderError
            If the configuration is not that of a terrafl run, or a value in it is invalid.
        """
        plain = read_config_file(config)
        try:
            labels = _labels(plain)
            versions = checked(check_of(Mapping[str, str]), "versions", plain.get("versions", {}))
        except ValueError as error:
            raise RunFolderError(
                f"{config} must be the configuration of a terrafl run: {error}."
            ) from error
        return cls(
            **asdict(labels),
            rounds=0,
            stopped="",
            **asdict(Costs()),
            accuracy=0.0,
            accuracy_participating=0.0,
            best=0.0,
            mean_last_ten=0.0,
            curve=(),
            versions=versions,
        )


def _labels(plain: Plain) -> Labels:
    unnamed = dict.fromkeys((field.name for field in fields(Labels)), "") | {"seed": 0}
    table = _table(plain["labels"]) if "labels" in plain else _names(plain)
    labels = parsed(Labels, unnamed | table)
    if not labels.selector or not labels.algorithm:
        raise ValueError("it must name a selector and an algorithm")
    return labels


def _names(plain: Plain) -> Plain:
    """Return the names in the settings of a simulated run, or of one on Flower."""
    parts = plain.get("strategy", [])
    strategies = [_table(part).get("name", "") for part in parts] if isinstance(parts, list) else []
    model = plain.get("model", "")
    return {
        **{key: plain[key] for key in ("dataset", "scenario", "profile", "seed") if key in plain},
        "model": model if isinstance(model, str) else _table(model).get("name", ""),
        "selector": _table(plain.get("selector")).get("name", ""),
        "algorithm": _table(plain.get("algorithm")).get("name", "")
        or "+".join(map(str, strategies)).lower(),
    }


def _table(value: object) -> Plain:
    return value if isinstance(value, dict) else {}
