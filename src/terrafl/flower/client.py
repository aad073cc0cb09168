"""The client's side: answer the server's questions, report losses.

Training and evaluation functions stay what they are. Norms and updates need nothing from the
client: the server computes them from the model that comes back anyway.
"""

from collections.abc import Callable, Sequence

import numpy as np
from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import ArrayLike

from terrafl.algorithms.fednova import coefficient_sum
from terrafl.errors import ConfigurationError, require
from terrafl.flower import wire
from terrafl.selection.needs import known

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
