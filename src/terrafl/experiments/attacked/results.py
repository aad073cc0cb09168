"""The result of a finished run of the attack bench: one small file."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from terrafl.defences import KINDS, Kind
from terrafl.errors import RunFolderError, require_known
from terrafl.experiments.attacked.evidence import Evidence, weigh
from terrafl.experiments.attacked.plan import METHODS, Attacked
from terrafl.experiments.run import read_config
from terrafl.runs import RunFolder, read_events
from terrafl.runs.atomic import write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The outcome of one run.

    Parameters
    ----------
    method, kind, seed
        Which run.
    fraction
        Share of the clients that attacks.
    scenario, rounds
        What was trained, and for how many rounds.
    accuracy, mean_last_ten
        On the pooled test set: after the last round, and of the last ten evaluations.
    evidence
        What the journal says about the attackers.
    configuration
        The whole configuration of the run; ``terrafl run`` repeats it.
    versions
        Versions of what the result depends on.
    """

    method: str
    kind: Kind
    seed: int
    fraction: float
    scenario: str
    rounds: int
    accuracy: float
    mean_last_ten: float
    evidence: Evidence
    configuration: Mapping[str, Any]  # Any: what TOML can hold
    versions: Mapping[str, str]


def keep(run: Attacked, results: Path) -> None:
    """Write the result of a finished run."""
    folder = RunFolder(run.cell.folder)
    summary, config = folder.read_summary(), read_config(folder)
    assert config.attack is not None
    kept = Kept(
        method=run.method,
        kind=run.kind,
        seed=summary.seed,
        fraction=config.attack.fraction,
        scenario=summary.scenario or summary.dataset,
        rounds=summary.rounds,
        accuracy=summary.accuracy,
        mean_last_ten=summary.mean_last_ten,
        evidence=weigh(read_events(folder.journal)),
        configuration=config.to_plain(),
        versions=dict(summary.versions),
    )
    plain = asdict(kept)
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(
        results / f"{folder.path.name}.json", json.dumps(plain, indent=1).encode() + b"\n"
    )


def read_kept(results: Path) -> list[Kept]:
    """Read all result files in a folder, in the order of their names."""
    return [_read(path) for path in sorted(results.glob("*.json"))]


def _read(path: Path) -> Kept:
    try:
        plain = json.loads(path.read_bytes())
        kept = Kept(**plain | {"evidence": Evidence(**plain["evidence"])})
        require_known(kept.method, METHODS, "method must be one of")
        require_known(kept.kind, KINDS, "kind must be one of")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunFolderError(f"{path} must be a result of terrafl attack; {error}.") from error
    return kept
