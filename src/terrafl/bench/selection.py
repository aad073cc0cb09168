"""Time draws and splits at a thousand to a million clients, compared with numpy's argsort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from terrafl.bench.meter import seconds_of
from terrafl.data.partition.partition import numbered
from terrafl.errors import ConfigurationError
from terrafl.seeds import stream
from terrafl.selection import SELECTORS, Context, Population, Report, Selector, split

SCALES = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS_PER_ROUND = 15
NUM_CLASSES = 10

Row = dict[str, str | int | float | None]


def measure_selection(scales: Sequence[int] = SCALES, repetitions: int = 7) -> list[Row]:
    """Return one row per measurement; seconds are medians over the repetitions.

    ``split`` splits a cohort of that many clients; its ratio is that to argsort of the norms, timed
    in turns. ``split near ties`` does so for equally spaced norms and equal sizes: neighbouring
    splits nearly tie, so many are compared exactly. Each selector runs whole rounds (draw, reports
    of 15 clients, refine) over a population of that size.
    """
    rows: list[Row] = []
    for scale in scales:
        generator = stream(0, "bench")
        sizes = generator.integers(20, 1000, scale)
        norms = generator.lognormal(size=scale)
        rows.append(_split_row("split", norms, sizes, repetitions))
        spaced, equal = generator.permutation(scale).astype(np.float64), np.full(scale, 600)
        rows.append(_split_row("split near ties", spaced, equal, repetitions))
        population = Population(numbered(scale), sizes)
        memory = (population.ids.nbytes + population.sizes.nbytes) / scale
        for name, cls in SELECTORS.items():
            rows.append(_selector_row(name, cls(), population, memory, repetitions))
    return rows


def _split_row(
    what: str, norms: NDArray[np.float64], sizes: NDArray[np.int64], repetitions: int
) -> Row:
    pairs = [
        (seconds_of(lambda: split(norms, sizes)), seconds_of(lambda: np.argsort(norms)))
        for _ in range(repetitions)
    ]
    return {
        "what": what,
        "clients": len(norms),
        "seconds": float(np.median([seconds for seconds, _ in pairs])),
        "argsort_seconds": float(np.median([reference for _, reference in pairs])),
        "ratio": float(np.median([seconds / reference for seconds, reference in pairs])),
    }


def _selector_row(
    name: str, selector: Selector, population: Population, memory: float, repetitions: int
) -> Row:
    row: Row = {"what": name, "clients": len(population), "population_bytes_per_client": memory}
    rounds = _Rounds(selector, population)
    try:
        rounds.once()
    except ConfigurationError as error:
        return row | {"seconds": None, "refused": str(error)}
    seconds = [seconds_of(rounds.once) for _ in range(repetitions)]
    state = selector.state()
    held = sum(v.nbytes for v in state.values() if isinstance(v, np.ndarray)) / len(population)
    return row | {"seconds": float(np.median(seconds)), "state_bytes_per_client": held}


@dataclass(slots=True)
class _Rounds:
    """Rounds of a selector with random reports."""

    selector: Selector
    population: Population
    round: int = 0

    def once(self) -> None:
        """Run one round: draw, then report and refine until the round ends."""
        generator = stream(0, "selection", round=self.round)
        context = Context(
            round=self.round,
            num_rounds=100,
            clients_per_round=CLIENTS_PER_ROUND,
            population=self.population,
            generator=generator,
            ask=lambda clients, what, sample_size=None: generator.random(len(clients)),
        )
        cohort, iteration = self.selector.draw(context), 0
        while cohort:
            positions = self.population.index(cohort.clients)
            reports = [
                Report(
                    client_id=client,
                    round=self.round,
                    iteration=iteration,
                    num_examples=int(size),
                    update_norm=float(generator.lognormal()),
                    loss=float(generator.random()),
                    squared_loss=float(generator.random()),
                    bias_update=generator.normal(size=NUM_CLASSES) / 1000,
                )
                for client, size in zip(
                    cohort.clients, self.population.sizes[positions], strict=True
                )
            ]
            iteration += 1
            cohort = self.selector.refine(reports, replace(context, iteration=iteration))
        self.round += 1
