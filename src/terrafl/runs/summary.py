"""The summary of a finished run: what reports and tables are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

from terrafl.errors import RunFolderError

__all__ = ["Point", "Summary"]


class Point(NamedTuple):
    """One evaluation on the curve of a run."""

    round: int
    """Rounds completed."""
    client_updates: int
    samples: int
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came out of a run, and what it cost.

    Parameters
    ----------
    dataset, scenario, model, selector, algorithm, seed
        What was run; ``scenario`` is empty for a configuration of one's own.
    profile
        The sweep's profile (``paper``, ``laptop``, ``smoke``), empty outside a sweep.
    variant
        The selector's settings that differ from its defaults, empty if none does.
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
        What would have crossed the network: models down, models and reports up.
    reports_refused
        Reports that did not pass the border.
    accuracy
        Of the global model on the pooled test set after the last round.
    accuracy_participating
        Mean accuracy on the test data of the last round's participating clients.
    best
        Highest pooled accuracy of any evaluation; for information, never a result.
    mean_last_ten
        Mean pooled accuracy of the last ten evaluations.
    curve
        Every evaluation.
    versions
        Of what the result depends on.
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
    experiment: str = ""

    def to_json(self) -> bytes:
        """Return the file's content."""
        return json.dumps(asdict(self), indent=1, allow_nan=False).encode() + b"\n"

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Read a summary file."""
        try:
            values = json.loads(path.read_bytes())
            optional = {"experiment"}
            names = [f.name for f in fields(cls) if f.name in values or f.name not in optional]
            known = {name: values[name] for name in names}
            known["curve"] = tuple(Point(*point) for point in known["curve"])
            _check(cls.__annotations__, known)
            _check(dict.fromkeys(known["versions"], "str"), known["versions"])
            for point in known["curve"]:
                _check(Point.__annotations__, point._asdict())
            return cls(**known)
        except OSError as error:
            raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, TypeError, KeyError) as error:
            raise RunFolderError(
                f"{path} must be the summary of a terrafl run; it is damaged or something else "
                f"({type(error).__name__}: {error})."
            ) from error


_KINDS: Mapping[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}


def _check(annotations: Mapping[str, object], values: Mapping[str, object]) -> None:
    """Refuse a value of another kind than its field; lists and tables are checked by their own."""
    for name, value in values.items():
        annotation = annotations[name]
        kind = getattr(annotation, "__forward_arg__", annotation)  # named tuples wrap theirs
        allowed = _KINDS.get(str(kind), (object,))
        if not isinstance(value, allowed) or (kind != "str" and isinstance(value, bool)):
            raise TypeError(f"{name} must be of kind {kind}; got {value!r}")
