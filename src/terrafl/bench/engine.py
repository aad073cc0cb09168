"""The engine beside loops without federation, in one run: samples per second and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from terrafl.bench.meter import TreeMemory, seconds_of
from terrafl.bench.workloads import MOMENTUM, WORKLOADS, Workload, benchmark_data
from terrafl.data import FederatedData
from terrafl.experiments.assemble import job_of, plan_of
from terrafl.federation.loop import Loop
from terrafl.federation.record import Record
from terrafl.runs import RunFolder
from terrafl.seeds import stream
from terrafl.simulation.federation import SimulatedFederation
from terrafl.simulation.job import arrays_of
from terrafl.simulation.pool import Pool
from terrafl.simulation.process_group import ProcessGroup

Say = Callable[[str], None]

_LEAST_SECONDS = 0.5  # an evaluation of a small network takes too little to be timed once


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One workload; speeds are medians over the repetitions, ratios medians of ratios.

    Parameters
    ----------
    name, data, workers, repetitions
        What was measured.
    stock_samples_per_s, plain_samples_per_s, engine_samples_per_s
        Training examples per second.
    ratio_stock, ratio
        Engine over stock, engine over plain.
    ratio_spread
        Least and greatest ratio of the repetitions.
    plain_loop
        Which loop was the fastest.
    peak_pss_mb
        Of the engine's process tree.
    eval_ratio
        Time of an evaluation over that of a plain forward pass in as many processes.
    momentum_ratio_stock
        Engine over stock, both with momentum 0.9; ``None`` where it is not measured.
    """

    name: str
    data: str
    workers: int
    repetitions: int
    stock_samples_per_s: float
    plain_samples_per_s: float
    engine_samples_per_s: float
    ratio_stock: float
    ratio: float
    ratio_spread: tuple[float, float]
    plain_loop: str
    peak_pss_mb: float
    eval_ratio: float
    momentum_ratio_stock: float | None

    def to_dict(self) -> dict[str, Any]:  # Any: what JSON can hold
        """Return the measurement as JSON values."""
        return asdict(self)


def measure_engine(
    names: Sequence[str], *, workers: int, repetitions: int, say: Say = lambda text: None
) -> list[Measured]:
    """Measure workloads, engine and loops taking turns."""
    measured = []
    for name in names:
        with ProcessGroup("terrafl.bench.loops", workers) as crowd:
            measured.append(_measure(WORKLOADS[name], crowd, workers, repetitions, say))
    return measured


def _measure(
    workload: Workload, crowd: ProcessGroup, workers: int, repetitions: int, say: Say
) -> Measured:
    take_turns = partial(_turns, workload, crowd=crowd, repetitions=repetitions, say=say)
    times, samples, peak_mb, data_name = take_turns(loops=("stock", "fused", "foreach"))
    plain = min(("fused", "foreach"), key=lambda loop: _median(times, loop))
    ratios = [t[plain] / t["engine"] for t in times]
    momentum = None
    if workload.with_momentum:
        again, *_ = take_turns(loops=("stock_momentum",), momentum=MOMENTUM)
        momentum = statistics.median(t["stock_momentum"] / t["engine"] for t in again)
    return Measured(
        name=workload.name,
        data=data_name,
        workers=workers,
        repetitions=len(times),
        stock_samples_per_s=samples / _median(times, "stock"),
        plain_samples_per_s=samples / _median(times, plain),
        engine_samples_per_s=samples / _median(times, "engine"),
        ratio_stock=statistics.median(t["stock"] / t["engine"] for t in times),
        ratio=statistics.median(ratios),
        ratio_spread=(min(ratios), max(ratios)),
        plain_loop=plain,
        peak_pss_mb=peak_mb,
        eval_ratio=statistics.median(t["evaluation"] / t["forward"] for t in times),
        momentum_ratio_stock=momentum,
    )


def _turns(
    workload: Workload,
    *,
    loops: Sequence[str],
    momentum: float = 0.0,
    crowd: ProcessGroup,
    repetitions: int,
    say: Say,
) -> tuple[list[dict[str, float]], int, float, str]:
    """Return the seconds by repetition, the samples of one, the peak in MB, and the data's name."""
    config = workload.config(momentum)
    with TemporaryDirectory() as folder, Pool(len(crowd)) as pool:
        dataset, data_name = benchmark_data()
        partition = config.partition.partition(dataset, stream(0, "partition"))
        data = FederatedData(dataset, partition)
        pool.open(job_of(config, data), arrays_of(data), most_clients=config.clients_per_round)
        with RunFolder(Path(folder)) as held, Record(held) as record, TreeMemory(pool.pids) as tree:
            federation = SimulatedFederation(
                data=data, executor=pool, training=config.training, seed=config.seed
            )
            loop = Loop(
                plan=plan_of(config),
                federation=federation,
                selector=config.selector,
                algorithm=config.algorithm,
                record=record,
                initial_model=pool.initial_model,
            )
            bench = _Bench(workload, loops, crowd, loop, federation)
            bench.repetition()  # warm-up
            times = []
            for i in range(repetitions):
                times.append(bench.repetition())
                what = f"{workload.name}, momentum {momentum}" if momentum else workload.name
                say(f"{what}: repetition {i + 1} of {repetitions}")
            return times, bench.samples, tree.peak_mb, data_name


@dataclass(slots=True)
class _Bench:
    workload: Workload
    loops: Sequence[str]
    crowd: ProcessGroup
    loop: Loop
    federation: SimulatedFederation
    samples: int = 0

    def repetition(self) -> dict[str, float]:
        """Let everyone do the same work once; return the seconds each took."""
        times = {"engine": seconds_of(self.loop.run_round)}
        federation, cohort = self.federation, self.loop.state.participants
        positions = federation.population.index(cohort)
        rows = [federation.data.partition.train[position] for position in positions]
        self.samples = federation.training.epochs * sum(map(len, rows))
        longest_first = sorted((part.tolist() for part in rows), key=len, reverse=True)
        for loop in self.loops:
            work = [
                {"workload": self.workload.name, "loop": loop, "rows": part}
                for part in longest_first
            ]
            times[loop] = seconds_of(lambda work=work: self.crowd.ask(work))  # type: ignore[misc]  # bound now
        return times | self._evaluations()

    def _evaluations(self) -> dict[str, float]:
        """Return the seconds of evaluations and of forward passes, in turns."""
        model, spent = self.loop.state.model, {"evaluation": 0.0, "forward": 0.0}
        while spent["forward"] < _LEAST_SECONDS:
            spent["evaluation"] += seconds_of(lambda: self.federation.executor.evaluate(model))
            spent["forward"] += seconds_of(lambda: self.crowd.ask(self._forward()))
        return spent

    def _forward(self) -> list[dict[str, Any]]:  # Any: what JSON can hold
        total, parts = len(self.federation.data.dataset.test), len(self.crowd)
        ends = [total * i // parts for i in range(parts + 1)]
        return [{"workload": self.workload.name, "start": a, "stop": b} for a, b in pairwise(ends)]


def _median(times: Sequence[dict[str, float]], key: str) -> float:
    return statistics.median(t[key] for t in times)
