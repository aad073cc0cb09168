"""The client's side: answer the server's questions, report losses.

Training and evaluation functions stay what they are. Norms and updates need nothing from the
client: the server computes them from the model that comes back anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import ArrayLike

from terrafl.algorithms import ALGORITHMS, Algorithm, FedAvg, LocalStep
from terrafl.algorithms.fednova import coefficient_sum
from terrafl.errors import ConfigurationError, require
from terrafl.flower import wire
from terrafl.selection.needs import known
from terrafl.settings import named

if TYPE_CHECKING:
    import torch
    from torch import nn

Loss = Callable[[Message, Context, Sequence[int] | None], float]


def answer(
    app: ClientApp,
    *,
    num_examples: Callable[[Context], int],
    loss: Loss | None = None,
    client_id: Callable[[Context], str] | None = None,
) -> None:
    """Let a client app tell who it is, how much data it has and how well a model fits.

    Parameters
    ----------
    app
        The client app; it gets one more function, for messages of the type ``query.terrafl``.
    num_examples
        Returns the size of the client's training set.
    loss
        Returns the mean loss of the model in the message on the client's training set, or on
        the given rows of it. Power-of-choice asks for it; other selectors do not.
    client_id
        Returns the client's name, the same after every restart. Left out, it is ``client-id``
        of the node's configuration, or else its ``partition-id``.
    """

    @app.query(wire.ACTION)
    def answered(message: Message, context: Context) -> Message:
        question = message.content.config_records[wire.RECORD]
        what = str(question[wire.QUESTION])
        if what == "loss":
            if loss is None:
                raise ConfigurationError(
                    "this client cannot answer a loss query; pass loss= to terrafl.flower.answer."
                )
            rows = question.get(wire.ROWS)
            chosen = [int(row) for row in rows] if isinstance(rows, list) else None
            value = float(loss(message, context, chosen))
            content = RecordDict({wire.RECORD: MetricRecord({what: value})})
        else:
            name = client_id(context) if client_id else _configured_name(context)
            said = ConfigRecord({wire.CLIENT_ID: name})
            said[wire.NUM_EXAMPLES] = int(num_examples(context))
            content = RecordDict({wire.RECORD: said})
        return Message(content, reply_to=message)


def _configured_name(context: Context) -> str:
    settings = context.node_config
    return str(settings.get("client-id", settings.get("partition-id", "")))


def follow(
    message: Message, model: nn.Module, algorithm: Algorithm | None = None
) -> Callable[[], None]:
    """Return what corrects the gradients of a torch model as the server's algorithm wants.

    Call it between ``loss.backward()`` and ``optimizer.step()``, every time. It does nothing where
    the algorithm corrects no gradients, so it can stay for every algorithm.

    Parameters
    ----------
    message
        The request to train. Its model must have been loaded already.
    model
        The network in training; its arrays were sent under the names of its ``state_dict``.
    algorithm
        The algorithm, if it is your own class: a client does not import what a server names.
    """
    import torch

    content = message.content
    said = [r[wire.ALGORITHM] for r in content.config_records.values() if wire.ALGORITHM in r]
    algorithm = algorithm or (_algorithm(str(said[0])) if said else FedAvg())
    parameters = dict(model.named_parameters())
    received = {name: parameter.detach().clone() for name, parameter in parameters.items()}

    def vectors(prefix: str, parameter: str) -> dict[str, torch.Tensor]:
        return {
            key.removeprefix(prefix): torch.from_numpy(record[parameter].numpy().copy()).to(
                parameters[parameter].device
            )
            for key, record in content.array_records.items()
            if key.startswith(prefix)
        }

    extras = {name: (vectors(wire.SHARED, name), vectors(wire.GIVEN, name)) for name in parameters}

    @torch.no_grad()
    def correct() -> None:
        for name, parameter in parameters.items():
            if parameter.grad is not None:
                parameter.grad = algorithm.correct_gradient(
                    LocalStep(parameter.grad, parameter.detach(), received[name], *extras[name])
                )

    return correct if algorithm.corrects_gradients else lambda: None


def _algorithm(said: str) -> Algorithm:
    plain = json.loads(said)
    if plain["name"] not in ALGORITHMS:
        raise ConfigurationError(
            f"algorithm must be one of {', '.join(ALGORITHMS)}; the server runs {plain['name']!r}: "
            "pass your own class to terrafl.flower.follow(message, model, algorithm)."
        )
    return named(ALGORITHMS, plain, "algorithm")


def report(
    num_examples: int,
    losses: ArrayLike | None = None,
    *,
    steps: int | None = None,
    learning_rate: float = 0.0,
    momentum: float = 0.0,
) -> MetricRecord:
    r"""Return the metrics of one local training, as every selector understands them.

    With $\ell_i$ the loss of the $i$-th example seen in training, the record holds the number
    of examples, the mean loss $\frac1n\sum_i \ell_i$ and the mean squared loss
    $\frac1n\sum_i \ell_i^2$, and likewise what this client has registered with
    :func:`terrafl.selection.needs.register`.

    Parameters
    ----------
    num_examples
        Size of the client's training set.
    losses
        One loss per example seen. Oort needs them, and so does power-of-choice as ``rpow-d``.
    steps, learning_rate, momentum
        SGD steps taken, with what step size and momentum. FedNova, SCAFFOLD and FedDC need them.

    Examples
    --------
    >>> report(600, losses=[1.0, 3.0])
    {'num-examples': 600, 'train_loss': 2.0, 'train_squared_loss': 5.0}
    """
    metrics = MetricRecord({wire.NUM_EXAMPLES: int(num_examples)})
    if losses is not None:
        values = np.asarray(losses, dtype=np.float64).ravel()
        require(values.size > 0, "losses", values.size, "one number per example seen")
        for measurement in known().values():
            if measurement.source == "client" and measurement.function is not None:
                metrics[measurement.metric] = float(measurement.function(values).mean())
    if steps is not None:
        require(learning_rate > 0, "learning_rate", learning_rate, "greater than 0, with steps")
        metrics[wire.STEPS] = int(steps)
        metrics[wire.STEP_SUM] = learning_rate * coefficient_sum(steps, learning_rate, momentum)
    return metrics
