"""From a configuration to a trained model: the simulation put together."""

import json
from contextlib import ExitStack
from typing import cast

import numpy as np
from safetensors.numpy import save as to_safetensors

from terrafl.data import FederatedData
from terrafl.data.federated import with_flipped_labels
from terrafl.defences import Attackers, draw_attackers
from terrafl.errors import ConfigurationError, RunFolderError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.drift import Drift, conditions, stored_versions
from terrafl.experiments.run import OnRound
from terrafl.experiments.warm_up import load_data
from terrafl.federation.loop import Loop
from terrafl.federation.plan import MOST_ITERATIONS, Plan
from terrafl.federation.protocol import Federation
from terrafl.federation.record import Record
from terrafl.federation.state import RunState
from terrafl.models import MODELS
from terrafl.records import Population
from terrafl.runs import RunFolder, Summary, events, read_lines
from terrafl.runs.atomic import write_atomically
from terrafl.runs.checkpoint import Checkpoint
from terrafl.seeds import stream
from terrafl.simulation.executor import Executor
from terrafl.simulation.federation import SimulatedFederation, federation_event
from terrafl.simulation.hostile import Hostile
from terrafl.simulation.job import Job, arrays_of
from terrafl.simulation.pool import Pool


def federate(config: RunConfig, workers: int = 1) -> FederatedData:
    """Load the data and spread it over clients, as the configuration's seed says."""
    dataset = load_data(config, workers)
    partition = config.partition.partition(dataset, stream(config.seed, "partition"))
    data = FederatedData(dataset, partition)
    if config.clients_per_round > len(data.client_ids):
        raise ConfigurationError(
            f"clients_per_round must be at most the {len(data.client_ids)} clients there are; "
            f"got {config.clients_per_round}."
        )
    return data


def train(
    folder: RunFolder,
    config: RunConfig,
    workers: int,
    on_round: OnRound,
    checkpoint_every_s: float,
    *,
    start: Checkpoint | None = None,
    drift: Drift | None = None,
) -> Summary:
    """Train in a folder that is held and configured, to the end.

    Parameters
    ----------
    folder, config
        Where, and what.
    workers, on_round, checkpoint_every_s
        See :func:`terrafl.experiments.run.execute`.
    start
        The checkpoint to resume from; ``None`` to begin.
    drift
        What has changed since, to be written into the journal.
    """
    parts = config.fresh()  # a run learns; the caller's objects do not

    def report(state: RunState) -> None:
        accuracy = state.curve[-1].accuracy if state.curve else None
        on_round(state.round, config.rounds, accuracy)

    with ExitStack() as stack:
        # Processes start first: they load torch while this one loads the data.
        pool = stack.enter_context(Pool(workers)) if workers > 1 else None
        data = federate(config, workers)
        if start is not None and not drift:
            _require_same_data(folder, federation_event(data))
        attacking, trained_on = _attacked(config, data)
        job, arrays = job_of(parts, data), arrays_of(trained_on)
        executor: Executor
        if pool is not None:
            executor = pool.open(job, arrays, most_clients=config.clients_per_round)
        else:
            from terrafl.simulation.in_process import InProcess  # the pool needs no torch here

            executor = stack.enter_context(InProcess(job, arrays))
        record = stack.enter_context(
            Record(folder, checkpoint_every_s, start=start, conditions=conditions(config))
        )
        loop = Loop(
            plan=plan_of(config),
            record=record,
            initial_model=executor.initial_model,
            federation=_federation(config, data, executor, attacking),
            selector=parts.selector,
            algorithm=parts.algorithm,
            guard=parts.guard,
            aggregation=parts.aggregation,
            average=parts.average,
            records_weights=parts.guard is not None or config.attack is not None,
            drift=drift or None,
            on_round=report,
        )
        loop.run()
        model = executor.layout.tensors(loop.readout)
    summary = loop.state.summary(
        config.labels,
        num_rounds=config.rounds,
        versions=stored_versions(folder),
        metric=config.task.metric,
    )
    with folder.writing():
        tensors = {name: part.copy() for name, part in model.items()}
        write_atomically(folder.model, to_safetensors(tensors))
        write_atomically(folder.summary, summary.to_json())
    return summary


def _federation(
    config: RunConfig, data: FederatedData, executor: Executor, attacking: tuple[str, ...]
) -> Federation:
    """Return the simulated clients, some of which may attack."""
    honest = SimulatedFederation(
        data=data, executor=executor, training=config.training, seed=config.seed, task=config.task
    )
    if config.attack is None:
        return honest
    attackers = Attackers(config.attack, attacking, executor.initial_model)
    return cast("Federation", Hostile(honest, attackers))  # it hands the rest through


def _require_same_data(folder: RunFolder, federation: events.Federation) -> None:
    """Refuse to resume with data that is dealt out in another way than before."""
    now = json.loads(json.dumps(events.to_plain(federation)))
    if next(read_lines(folder.journal), None) != now:
        raise RunFolderError(
            f"{folder.path} was started with other data than there is now: restore the data set's "
            "files, or start the run again in another folder."
        )


def _attacked(config: RunConfig, data: FederatedData) -> tuple[tuple[str, ...], FederatedData]:
    """Return who attacks, and the data as it is trained on."""
    if config.attack is None:
        return (), data
    population = Population(data.client_ids, data.sizes)
    clients = draw_attackers(config.attack, population, stream(config.seed, "attackers"))
    if not config.attack.flips_labels:
        return clients, data
    return clients, with_flipped_labels(data, np.searchsorted(data.client_ids, clients).tolist())


def job_of(config: RunConfig, data: FederatedData) -> Job:
    """Return what the workers of a run must know."""
    dataset, model = data.dataset, config.model
    if dataset.has_raw_inputs and type(model) in MODELS.values():
        raise ConfigurationError(
            f"model must be a network of your own that begins with an embedding, since the "
            f"inputs of {dataset.name} are integers; got {type(model).name}: use another "
            "model, or store the inputs as floating-point numbers."
        )
    scale, offset = dataset.normalisation.affine()
    return Job(
        model=model,
        algorithm=config.algorithm,
        training=config.training,
        task=config.task,
        input_shape=dataset.input_shape,
        num_outputs=config.task.num_outputs(dataset),
        scale=tuple(scale.tolist()),
        offset=tuple(offset.tolist()),
        seed=config.seed,
        precision=config.precision,
        device=config.device,
        needs=tuple(sorted(set(config.selector.needs))),
        on_client_failure=config.on_client_failure,
    )


def plan_of(config: RunConfig) -> Plan:
    """Return what the round loop of a run must know."""
    return Plan(
        num_rounds=config.rounds,
        clients_per_round=config.clients_per_round,
        seed=config.seed,
        eval_every=config.eval_every,
        patience=config.patience,
        max_iterations_per_round=config.max_iterations_per_round or MOST_ITERATIONS,
    )
