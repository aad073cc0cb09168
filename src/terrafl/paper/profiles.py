"""Profiles: how many seeds and rounds of the paper's setting are run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from terrafl.errors import require_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Seeds and rounds.

    Parameters
    ----------
    name
        Its name in configurations and summaries.
    seeds
        One run each.
    rounds
        Rounds by data set; a data set without an entry runs the scenario's rounds.
    all_rounds
        Rounds on every data set, if given.
    """

    name: str
    seeds: tuple[int, ...]
    rounds: Mapping[str, int] = field(default_factory=dict)
    all_rounds: int | None = None

    def rounds_of(self, dataset: str) -> int | None:
        """Return the rounds on a data set; ``None`` for the scenario's rounds."""
        return self.all_rounds or self.rounds.get(dataset)


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="paper", seeds=(0, 1, 2)),
        Profile(
            name="laptop",
            seeds=(0,),
            rounds={
                "fmnist": 60,
                "cifar10": 100,
                "cifar100": 100,
                "tiny-imagenet": 100,
                "femnist": 20,
                "unipen62": 20,
                "har": 50,
            },
        ),
        Profile(name="smoke", seeds=(0,), all_rounds=2),
    )
}

SHOWN = ("paper", "laptop")
"""Profiles that tables show; the two rounds of ``smoke`` only test that a scenario runs."""


def profile_named(name: str) -> Profile:
    """Return a profile by its name."""
    require_known(name, PROFILES, "the profile must be one of")
    return PROFILES[name]
