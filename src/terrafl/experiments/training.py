"""From a configuration to a trained model: the engine put together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict

import numpy as np
from safetensors.numpy import save as to_safetensors

from terrafl.attacks import Attackers, draw_attackers
from terrafl.data import Dataset, FederatedData, Holdings, Skew, load
from terrafl.data.flipped import with_flipped_labels
from terrafl.engine.fairness import MOST_LISTED
from terrafl.engine.features import OnImages, require_weights, with_features
from terrafl.engine.job import Job, arrays_of
from terrafl.engine.pool import Pool
from terrafl.engine.record import Record
from terrafl.engine.rounds import Plan, Rounds
from terrafl.engine.state import RunState
from terrafl.engine.workers import Workers
from terrafl.errors import ConfigurationError, RunFolderError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.drift import Drift, conditions, stored_versions
from terrafl.experiments.run import OnRound
from terrafl.runs import RunFolder, Summary, read_lines
from terrafl.runs.atomic import write_atomically
from terrafl.runs.checkpoint import Checkpoint
from terrafl.seeds import stream
from terrafl.selection import Population

__all__ = ["federate", "job_of", "load_data", "plan_of", "train"]


def load_data(
    config: RunConfig, workers: int = 1, on_images: OnImages = lambda done, total: None
) -> Dataset:
    """Load the data set, as the backbone's features if there is one."""
    if config.backbone is not None:
        require_weights(config.dataset, config.backbone)
    dataset = load(config.dataset, generator=stream(config.seed, "data"))
    if config.backbone is None:
        return dataset
    return with_features(dataset, config.backbone, workers=workers, on_images=on_images)


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
    *,
    workers: int,
    on_round: OnRound,
    checkpoint_every_s: float,
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
        The checkpoint to go on from; ``None`` to begin.
    drift
        What has changed since, to be written into the journal.
    """
    parts = RunConfig.from_plain(config.to_plain())  # a run learns; the caller's objects do not
    selector, algorithm = parts.selector, parts.algorithm

    def tell(state: RunState) -> None:
        accuracy = state.curve[-1].accuracy if state.curve else None
        on_round(state.round, config.rounds, accuracy)

    with ExitStack() as stack:
        # Processes start first: they load torch while this one loads the data.
        pool = stack.enter_context(Pool(workers)) if workers > 1 else None
        data = federate(config, workers)
        federation = _federation(data)
        if start is not None and not drift:
            _require_same_data(folder, federation)
        hostile = _hostile(config, data)
        job, arrays = job_of(parts, data), arrays_of(_poisoned(config, data, hostile))
        crew: Workers
        if pool is not None:
            crew = pool.open(job, arrays, most_clients=config.clients_per_round)
        else:
            from terrafl.engine.inprocess import InProcess  # the pool spares this process torch

            crew = stack.enter_context(InProcess(job, arrays))
        record = stack.enter_context(
            Record(folder, checkpoint_every_s, start=start, conditions=conditions(config))
        )

        def fresh() -> RunState:
            record.note(federation)
            if config.attack is not None:
                record.note({"event": "attackers", "kind": config.attack.kind, "clients": hostile})
            return RunState(crew.initial_model)

        attackers = None
        if config.attack is not None:
            attackers = Attackers(config.attack, hostile, crew.initial_model)
        state = record.open(selector, algorithm, fresh, parts.guard)
        if drift:
            record.note({"event": "drift", "round": state.round, "changes": drift})
        Rounds(
            plan=plan_of(config),
            data=data,
            selector=selector,
            algorithm=algorithm,
            workers=crew,
            record=record,
            state=state,
            guard=parts.guard,
            aggregation=parts.aggregation,
            attackers=attackers,
            on_round=tell,
        ).run()
        tensors = {name: part.copy() for name, part in crew.layout.tensors(state.model).items()}
    summary = _summary(config, state, stored_versions(folder))
    with folder.writing():
        write_atomically(folder.model, to_safetensors(tensors))
        write_atomically(folder.summary, summary.to_json())
    return summary


def _require_same_data(folder: RunFolder, federation: dict[str, object]) -> None:
    """Refuse to go on with data that is dealt out in another way than when the run was begun."""
    if next(read_lines(folder.journal), None) != json.loads(json.dumps(federation)):
        raise RunFolderError(
            f"{folder.path} was begun with other data than there is now: put the data set's files "
            "back, or start the run afresh in another folder."
        )


def _hostile(config: RunConfig, data: FederatedData) -> tuple[str, ...]:
    """Return who attacks."""
    if config.attack is None:
        return ()
    population = Population(data.client_ids, data.sizes)
    return draw_attackers(config.attack, population, stream(config.seed, "attackers"))


def _poisoned(config: RunConfig, data: FederatedData, hostile: tuple[str, ...]) -> FederatedData:
    """Return the data as it is trained on."""
    if config.attack is None or not config.attack.flips_labels:
        return data
    return with_flipped_labels(data, np.searchsorted(data.client_ids, hostile).tolist())


def _federation(data: FederatedData) -> dict[str, object]:
    """Return the journal's first event: all clients together, and each unless there are many."""
    holdings = Holdings.of(data.partition, data.dataset.train.y)
    skew = Skew.from_holdings(data.partition, holdings).to_dict()
    event: dict[str, object] = {"event": "federation", **skew}
    if len(data.client_ids) > MOST_LISTED:
        return event
    return {**event, "ids": data.client_ids.tolist(), **holdings.to_dict()}


def job_of(config: RunConfig, data: FederatedData) -> Job:
    """Return what the workers of a run must know."""
    return Job.of(
        data.dataset,
        model=config.model,
        algorithm=config.algorithm,
        training=config.training,
        seed=config.seed,
        needs=frozenset(config.selector.needs),
        precision=config.precision,
        device=config.device,
        on_client_failure=config.on_client_failure,
    )


def plan_of(config: RunConfig) -> Plan:
    """Return what the round loop of a run must know."""
    return Plan(
        num_rounds=config.rounds,
        clients_per_round=config.clients_per_round,
        seed=config.seed,
        training=config.training,
        eval_every=config.eval_every,
        patience=config.patience,
    )


def _summary(config: RunConfig, state: RunState, versions: Mapping[str, str]) -> Summary:
    accuracies = [point.accuracy for point in state.curve]
    newest = accuracies[-10:]
    return Summary(
        dataset=config.dataset,
        scenario=config.scenario,
        model=config.model_label,
        selector=type(config.selector).name,
        algorithm=type(config.algorithm).name,
        seed=config.seed,
        profile=config.profile,
        variant=config.variant,
        rounds=state.round,
        stopped="rounds" if state.round >= config.rounds else "patience",
        **asdict(state.costs),
        accuracy=accuracies[-1],
        accuracy_participating=state.accuracy_participating,
        best=max(accuracies),
        mean_last_ten=sum(newest) / len(newest),
        curve=tuple(state.curve),
        versions=dict(versions),
        experiment=config.experiment,
    )
