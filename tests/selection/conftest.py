"""A small federation with random reports, for tests of all selectors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from made_contexts import a_context
from safetensors.numpy import load, save

from terrafl.records import Population, Report
from terrafl.seeds import stream
from terrafl.selection.report import judge

NUM_CLASSES, NUM_FEATURES = 5, 3


def a_population(num_clients=40):
    sizes = stream(1, "sizes").integers(5, 200, size=num_clients).tolist()
    return Population.of({f"c{i:02d}": size for i, size in enumerate(sizes)})


@cache
def a_whole_report(client_id, round, iteration):
    generator = stream(2, "report", round=round, iteration=iteration, client=client_id)
    names = ("update_norm", "weight_norm", "bias_norm", "loss", "squared_loss", "duration_s")
    return Report(
        client_id=client_id,
        round=round,
        iteration=iteration,
        num_examples=int(generator.integers(5, 200)),
        weight_update=generator.normal(0, 0.01, (NUM_CLASSES, NUM_FEATURES)),
        bias_update=generator.normal(0, 0.01, NUM_CLASSES),
        **dict(zip(names, generator.random(len(names)).tolist(), strict=True)),
    )


def a_report(client_id, *, round=0, iteration=0, **fields):
    """Return a valid report with every field, determined by client, round and iteration."""
    return replace(a_whole_report(client_id, round, iteration), **fields)


def travel(state):
    """Write and read a selector's state in the file formats of a checkpoint."""
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    others = {name: value for name, value in state.items() if name not in arrays}
    return json.loads(json.dumps(others, allow_nan=False)) | load(save(arrays))


@dataclass
class Talk:
    """Several rounds with a selector, and the cohorts it returned.

    ``arrange`` puts the reports in their order of arrival; ``swap`` may replace the selector
    between any two calls.
    """

    selector: object
    population: Population = field(default_factory=a_population)
    clients_per_round: int = 5
    num_rounds: int = 30
    seed: int = 0
    available: object = None
    report: object = a_report
    arrange: object = list
    swap: object = None
    cohorts: list = field(default_factory=list)

    def round(self, number):
        mask = self.available(number, len(self.population)) if self.available else None
        context = a_context(
            self.population,
            round=number,
            clients_per_round=self.clients_per_round,
            num_rounds=self.num_rounds,
            seed=self.seed,
            available=mask,
        )
        cohort, iteration = self.selector.draw(context), 0
        self._heard(number, iteration, cohort)
        while cohort.clients:
            reports = [self.report(c, round=number, iteration=iteration) for c in cohort.clients]
            accepted, _ = judge(
                self.arrange(reports),
                cohort=cohort.clients,
                round=number,
                iteration=iteration,
                needs=self.selector.needs,
            )
            iteration += 1
            cohort = self.selector.refine(accepted, replace(context, iteration=iteration))
            self._heard(number, iteration, cohort)
        return self.cohorts

    def rounds(self, numbers=range(30)):
        for number in numbers:
            self.round(number)
        return self.cohorts

    def _heard(self, number, iteration, cohort):
        self.cohorts.append((number, iteration, cohort))
        if self.swap:
            self.selector = self.swap(self.selector)


@pytest.fixture(scope="session")
def make_population():
    return a_population


@pytest.fixture(scope="session")
def make_context():
    return a_context


@pytest.fixture(scope="session")
def make_report():
    return a_report


@pytest.fixture(scope="session")
def through_files():
    return travel


@pytest.fixture(scope="session")
def talk():
    return Talk
