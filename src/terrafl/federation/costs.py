"""What training and questions cost: updates, samples and bytes, by one rule everywhere."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from terrafl.algorithms import Algorithm
from terrafl.federation.protocol import Answers, Federation, TrainRequest, TrainResult
from terrafl.records import State, Update
from terrafl.runs.events import Costs
from terrafl.selection.needs import NUMBER_BYTES, find


@dataclass(slots=True)
class Account:
    """Counts what crosses the network.

    A client receives the model once per global model, unless its federation sends it with
    every request. It sends its model, its size as an 8-byte number, and what the selector needs, at
    the cost that :mod:`terrafl.selection.needs` names. A client that trained and is not kept
    sends all but the model.

    Parameters
    ----------
    federation
        Who trains.
    needs
        What reports must carry.
    algorithm
        May send more than the model, and make clients compute more.
    """

    federation: Federation
    needs: Collection[str]
    algorithm: Algorithm
    _holders: set[str] = field(default_factory=set, init=False)  # who has the current model

    def trained(self, request: TrainRequest, results: Sequence[TrainResult], uploads: int) -> Costs:
        """Return the cost of a training: refused clients that started have cost their work.

        Parameters
        ----------
        request, results
            The training.
        uploads
            How many models were sent.
        """
        pairs = list(zip(request.clients, results, strict=True))
        started = [client for client, r in pairs if isinstance(r, Update) or r.started]
        reports = sum(isinstance(result, Update) for result in results)
        report_bytes = NUMBER_BYTES + sum(find(need).wire_bytes for need in self.needs)
        algorithm = self.algorithm
        down, up = algorithm.traffic
        if not self.federation.clients_keep_model:  # nor their state: all of it goes down
            down, up = len(algorithm.shares) + len(algorithm.gives), 0
        extra = sum(result.samples for client, result in pairs if request.given.get(client))
        return Costs(
            client_updates=len(started),
            samples_trained=sum(result.samples for result in results),
            samples_forwarded=self.algorithm.extra_passes * extra,
            bytes_down=self._downloads(started) + self._extra(len(started), down),
            bytes_up=uploads * self.federation.model_bytes
            + self._extra(uploads, up)
            + reports * report_bytes,
        )

    def asked(self, answers: Answers) -> Costs:
        """Return the cost of a question."""
        return Costs(
            loss_queries=len(answers.asked),
            samples_queried=answers.samples,
            bytes_down=self._downloads(answers.asked),
            bytes_up=len(answers.asked) * answers.values[:1].nbytes,
        )

    def replace_model(self) -> None:
        """Note that there is a new global model, which no client has yet."""
        self._holders.clear()

    def state(self) -> State:
        """Return who has the current model."""
        return {"holders": sorted(self._holders)}

    def restore(self, state: State) -> None:
        """Take up who has the current model."""
        self._holders = set(state["holders"])  # type: ignore[arg-type]  # as stored

    def _extra(self, clients: int, model_sizes: float) -> int:
        return round(clients * model_sizes * self.federation.model_bytes)

    def _downloads(self, clients: Sequence[str]) -> int:
        missing = set(clients) - self._holders
        if self.federation.clients_keep_model:
            self._holders |= missing
        return len(missing) * self.federation.model_bytes
