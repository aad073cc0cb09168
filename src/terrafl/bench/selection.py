"""Time draws and splits at a thousand to a million clients, compared with numpy's argsort."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

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
        rows += [_selector_row(cls(), population, repetitions) for cls in SELECTORS.values()]
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


def _selector_row(selector: Selector, population: Population, repetitions: int) -> Row:
    row: Row = {
        "what": selector.name,
        "clients": len(population),
        "population_bytes_per_client": (population.ids.nbytes + population.sizes.nbytes)
        / len(population),
    }
    try:
        seconds = [
            seconds_of(partial(_run_round, selector, population, round_))
            for round_ in range(repetitions + 1)
        ]
    except ConfigurationError as error:
        return row | {"seconds": None, "refused": str(error)}
    state = selector.state()
    held = sum(v.nbytes for v in state.values() if isinstance(v, np.ndarray)) / len(population)
    warm = float(np.median(seconds[1:]))  # the first round is a warm-up
    return row | {"seconds": warm, "state_bytes_per_client": held}


def _run_round(selector: Selector, population: Population, round_: int) -> None:
    """Draw, then report random numbers and refine until the round ends."""
    generator = stream(0, "selection", round=round_)
    context = Context(
        round=round_,
        num_rounds=100,
        clients_per_round=CLIENTS_PER_ROUND,
        population=population,
        generator=generator,
        ask=lambda clients, what, sample_size=None: generator.random(len(clients)),
    )
    cohort, iteration = selector.draw(context), 0
    while cohort:
        sizes = population.sizes[population.index(cohort.clients)]
        reports = [
            Report(
                client_id=client,
                round=round_,
                iteration=iteration,
                num_examples=int(size),
                update_norm=float(generator.lognormal()),
                loss=float(generator.random()),
                squared_loss=float(generator.random()),
                bias_update=generator.normal(size=NUM_CLASSES) / 1000,
            )
            for client, size in zip(cohort.clients, sizes, strict=True)
        ]
        iteration += 1
        cohort = selector.refine(reports, replace(context, iteration=iteration))
