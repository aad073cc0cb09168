"""Means over seeds, and whether a difference between two methods is more than noise."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

BySeed = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds.

    Parameters
    ----------
    mean
        Arithmetic mean.
    sd
        Sample standard deviation, $n - 1$ in the denominator; ``None`` for one seed.
    num_seeds
        Seeds it rests on, $n$.
    """

    mean: float
    sd: float | None
    num_seeds: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A method minus the best method, seed by seed.

    Parameters
    ----------
    mean
        Mean of the differences.
    low, high
        Ends of the 95 % confidence interval of that mean; ``None`` below two common seeds.
    num_seeds
        Seeds that both methods ran, $n$.
    """

    mean: float
    low: float | None
    high: float | None
    num_seeds: int

    @property
    def within_noise(self) -> bool | None:
        """Whether the interval contains 0; ``None`` when there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class Score:
    """One method under one way of counting.

    Parameters
    ----------
    by_seed
        Accuracy in percent of every run that has one.
    estimate
        Their mean; ``None`` if no run has one.
    rank
        1 for the highest mean; equal means share a rank. ``None`` where there is no mean, or the
        method is not ranked.
    to_best
        Difference to the best method; ``None`` for the best itself and where no seed is common.
    """

    by_seed: BySeed
    estimate: Estimate | None
    rank: int | None
    to_best: Difference | None

    @property
    def percent(self) -> float | None:
        """The mean; ``None`` if no run has an accuracy."""
        return self.estimate.mean if self.estimate else None


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return mean and sample standard deviation, ``None`` of nothing."""
    if not values:
        return None
    return Estimate(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def difference(method: BySeed, best: BySeed) -> Difference | None:
    r"""Compare two methods over the seeds that both have run.

    With $d_s$ the difference under seed $s$, the interval is
    $\bar d \pm t_{0.975,\,n-1} \sqrt{\tfrac{1}{n-1} \sum_s (d_s - \bar d)^2} \, / \sqrt n$.

    Parameters
    ----------
    method, best
        Accuracy by seed; the difference is the first minus the second.

    Notes
    -----
    Runs under one seed share data, initial model and mini-batches, so the differences vary less
    than the accuracies do. No correction is made for the number of methods compared, nor for
    the best having been picked by the same numbers: an interval that excludes 0 narrowly is weak
    evidence.
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]  # no stubs

    seeds = sorted(method.keys() & best.keys())
    over_seeds = estimate([method[seed] - best[seed] for seed in seeds])
    if over_seeds is None:
        return None
    if over_seeds.sd is None:
        return Difference(over_seeds.mean, None, None, 1)
    half = float(stdtrit(len(seeds) - 1, 0.975)) * over_seeds.sd / math.sqrt(len(seeds))
    return Difference(over_seeds.mean, over_seeds.mean - half, over_seeds.mean + half, len(seeds))


def score_methods(
    values: Sequence[BySeed], outside: Collection[int] = frozenset()
) -> tuple[Score, ...]:
    """Estimate, rank and compare methods, each given as accuracy by seed.

    The best is the highest mean over all seeds of a method, the first of equals.

    Parameters
    ----------
    values
        Accuracy by seed of every method.
    outside
        Places of methods that are compared with the best and not ranked.
    """
    estimates = [estimate([by_seed[s] for s in sorted(by_seed)]) for by_seed in values]
    ranked = {i: e.mean for i, e in enumerate(estimates) if e is not None and i not in outside}
    best = max(ranked, key=lambda i: ranked[i], default=None)

    def rank(i: int) -> int | None:
        return 1 + sum(mean > ranked[i] for mean in ranked.values()) if i in ranked else None

    return tuple(
        Score(
            by_seed=by_seed,
            estimate=mean,
            rank=rank(i),
            to_best=None if best in (None, i) else difference(by_seed, values[best]),
        )
        for i, (by_seed, mean) in enumerate(zip(values, estimates, strict=True))
    )
