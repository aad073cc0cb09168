"""Columns of the paper's tables, made of numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from terrafl.paper.table import Block, Line
from terrafl.reports.collect import Run
from terrafl.reports.comparison import compare
from terrafl.runs import Point, Summary


def a_summary(variant, seed, accuracy, *, curve, mean_last_ten):
    rounds, client_updates, samples_trained, _ = curve[-1]
    return Summary(
        dataset="digits",
        scenario="digits-1",
        model="mlp",
        selector="terraform",
        variant=variant,
        algorithm="fedavg",
        profile="",
        seed=seed,
        rounds=rounds,
        stopped="rounds",
        client_updates=client_updates,
        samples_trained=samples_trained,
        loss_queries=0,
        samples_queried=0,
        bytes_down=1_000_000,
        bytes_up=2_000_000,
        reports_refused=0,
        accuracy=accuracy,
        accuracy_participating=accuracy,
        best=accuracy,
        mean_last_ten=mean_last_ten,
        curve=tuple(Point(*point) for point in curve),
        versions={"terrafl": "0.1.0"},
    )


def a_block(
    percents,
    *,
    scenario="s",
    label="S",
    printed=None,
    beyond=(),
    train_s=None,
    costs=None,
    last_ten=None,
):
    """Return a column: accuracies by seed of every method, an empty one for one not run."""
    runs, names = [], {}
    for name, by_seed in percents.items():
        names["terraform", name] = name
        total = (costs or {}).get(name, 20)
        for seed, percent in by_seed.items():
            curve = [(1, total // 2, 100, percent / 200), (2, total, 200, percent / 100)]
            steady = (last_ten or {}).get(name, percent) / 100
            summary = a_summary(name, seed, percent / 100, curve=curve, mean_last_ten=steady)
            runs.append(Run(f"{name}-{seed}", summary))
    group = None
    if runs:
        (found,) = compare(runs, outside={("terraform", name) for name in beyond}).groups
        methods = [replace(m, label=names[m.selector, m.variant]) for m in found.methods]
        group = replace(found, methods=tuple(methods))
    methods = {m.label: m for m in group.methods} if group else {}
    return Block(
        label=label,
        scenario=scenario,
        algorithm="fedavg",
        profile="laptop" if group else "",
        full_rounds=200,
        group=group,
        lines=tuple(
            Line(
                label=name,
                printed=(printed or {}).get(name),
                method=methods.get(name),
                train_s=(train_s or {}).get(name),
                beyond_paper=name in beyond,
            )
            for name in percents
        ),
    )


@pytest.fixture(name="a_block")
def _a_block():
    return a_block
