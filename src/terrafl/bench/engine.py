"""The engine beside loops without federation, in one run: samples per second and ratios."""

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from terrafl.bench.meter import TreeMemory, seconds_of
from terrafl.bench.workloads import MOMENTUM, WORKLOADS, Workload, benchmark_data
from terrafl.data import Dataset, FederatedData
from terrafl.experiments.assemble import job_of, plan_of
from terrafl.federation.loop import Loop
from terrafl.federation.record import Record
from terrafl.records import Vector
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


def measure_engine(
    names: Sequence[str], *, workers: int, repetitions: int, say: Say = lambda text: None
) -> list[Measured]:
    """Measure workloads, engine and loops taking turns."""
    dataset, data_name = benchmark_data()
    measured = []
    for name in names:
        with ProcessGroup("terrafl.bench.loops", workers) as crowd:
            bench = _Bench(WORKLOADS[name], dataset, crowd, repetitions, say)
            measured.append(_measure(bench, data_name))
    return measured


def _measure(bench: "_Bench", data_name: str) -> Measured:
    times, samples, peak_mb = bench.take_turns("stock", "fused", "foreach")

    def seconds(key: str) -> float:
        return statistics.median(t[key] for t in times)

    plain = min(("fused", "foreach"), key=seconds)
    ratios = [t[plain] / t["engine"] for t in times]
    momentum = None
    if bench.workload.with_momentum:
        again, *_ = bench.take_turns("stock_momentum", momentum=MOMENTUM)
        momentum = statistics.median(t["stock_momentum"] / t["engine"] for t in again)
    return Measured(
        name=bench.workload.name,
        data=data_name,
        workers=len(bench.crowd),
        repetitions=bench.repetitions,
        stock_samples_per_s=samples / seconds("stock"),
        plain_samples_per_s=samples / seconds(plain),
        engine_samples_per_s=samples / seconds("engine"),
        ratio_stock=statistics.median(t["stock"] / t["engine"] for t in times),
        ratio=statistics.median(ratios),
        ratio_spread=(min(ratios), max(ratios)),
        plain_loop=plain,
        peak_pss_mb=peak_mb,
        eval_ratio=statistics.median(t["evaluation"] / t["forward"] for t in times),
        momentum_ratio_stock=momentum,
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """One workload, the processes that run the loops, and how often they do."""

    workload: Workload
    dataset: Dataset
    crowd: ProcessGroup
    repetitions: int
    say: Say

    def take_turns(
        self, *loops: str, momentum: float = 0.0
    ) -> tuple[list[dict[str, float]], int, float]:
        """Return the seconds by repetition, the samples of one, and the peak in MB."""
        config, times = self.workload.config(momentum), []
        what = f"{self.workload.name}, momentum {momentum}" if momentum else self.workload.name
        partition = config.partition.partition(self.dataset, stream(0, "partition"))
        data = FederatedData(self.dataset, partition)
        with ExitStack() as stack:
            pool = stack.enter_context(Pool(len(self.crowd)))
            pool.open(job_of(config, data), arrays_of(data), most_clients=config.clients_per_round)
            folder = stack.enter_context(RunFolder(Path(stack.enter_context(TemporaryDirectory()))))
            loop = Loop(
                plan=plan_of(config),
                federation=SimulatedFederation(
                    data=data, executor=pool, training=config.training, seed=config.seed
                ),
                selector=config.selector,
                algorithm=config.algorithm,
                record=stack.enter_context(Record(folder)),
                initial_model=pool.initial_model,
            )
            tree = stack.enter_context(TreeMemory(pool.pids))
            for repetition in range(self.repetitions + 1):
                times.append({"engine": seconds_of(loop.run_round)})
                positions = np.searchsorted(data.client_ids, loop.state.participants)
                rows = [partition.train[position].tolist() for position in positions]
                times[-1] |= self._loops(loops, rows) | self._evaluations(pool, loop.state.model)
                if repetition:  # the first is a warm-up
                    self.say(f"{what}: repetition {repetition} of {self.repetitions}")
        return times[1:], config.training.epochs * sum(map(len, rows)), tree.peak_mb

    def _loops(self, loops: Sequence[str], rows: Sequence[list[int]]) -> dict[str, float]:
        """Let the loops train the same clients, largest first; return the seconds of each."""
        largest_first = sorted(rows, key=len, reverse=True)
        times = {}
        for loop in loops:
            work = [
                {"workload": self.workload.name, "loop": loop, "rows": part}
                for part in largest_first
            ]
            times[loop] = seconds_of(partial(self.crowd.ask, work))
        return times

    def _evaluations(self, pool: Pool, model: Vector) -> dict[str, float]:
        """Return the seconds of evaluations and of forward passes, in turns."""
        total, parts = len(self.dataset.test), len(self.crowd)
        ends = pairwise(total * i // parts for i in range(parts + 1))
        work = [{"workload": self.workload.name, "start": a, "stop": b} for a, b in ends]
        spent = {"evaluation": 0.0, "forward": 0.0}
        while spent["forward"] < _LEAST_SECONDS:
            spent["evaluation"] += seconds_of(partial(pool.evaluate, model))
            spent["forward"] += seconds_of(partial(self.crowd.ask, work))
        return spent
