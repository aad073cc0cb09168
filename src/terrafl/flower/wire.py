"""What server and clients share on the wire: names, and questions besides training."""

from collections.abc import Sequence

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict

ACTION = "terrafl"
"""Name under which clients answer questions: messages of the type ``query.terrafl``."""

RECORD = "terrafl"
"""Name of the record that holds a question or its answer."""

QUESTION = "question"
"""``who`` (are you, and how much data have you), or a question about the model that comes with it.

The answer to the latter is a metric of the question's name."""

ROUND = "terrafl-round"
"""Round of a training request, counted from 0."""

ITERATION = "terrafl-iteration"
"""Iteration inside the round, counted from 0."""

ROWS = "rows"
"""Examples on which a loss is asked; absent: all of them."""

ALGORITHM = "terrafl-algorithm"
"""The algorithm that clients follow, as JSON: its name in the catalogue and its settings."""

SHARED, GIVEN = "terrafl-shared-", "terrafl-given-"
"""Prefixes of the records that hold an algorithm's vectors, for all clients and for one."""

STEPS, STEP_SUM = "local-steps", "step-sum"
"""Metrics: optimiser steps taken, and learning rate times the sum of gradient coefficients."""

CLIENT_ID = "client-id"
NUM_EXAMPLES = "num-examples"

_TYPE = f"query.{ACTION}"
_LONGEST_NAME = 100


def identity_question(node: int) -> Message:
    """Ask a node who its client is and how much data it has."""
    content = RecordDict({RECORD: ConfigRecord({QUESTION: "who"})})
    return Message(content, node, _TYPE)


def identity_in(message: Message) -> tuple[str, int]:
    """Return the name and size in an answer; empty and 0 where there is none."""
    if message.has_error():  # most likely the client app does not know the question
        return "", 0
    answer = message.content.config_records.get(RECORD, ConfigRecord())
    name, size = answer.get(CLIENT_ID), answer.get(NUM_EXAMPLES)
    if not isinstance(name, str) or not name.isprintable() or len(name) > _LONGEST_NAME:
        name = ""
    return name, size if type(size) is int and size > 0 else 0


def model_question(
    node: int, what: str, arrays: ArrayRecord, rows: Sequence[int] | None
) -> Message:
    """Ask about a model on a client's data, or on some rows of it.

    ``what`` is one of :data:`terrafl.federation.protocol.QUESTIONS`.
    """
    question = ConfigRecord({QUESTION: what})
    if rows is not None:
        question[ROWS] = list(rows)
    return Message(RecordDict({"arrays": arrays, RECORD: question}), node, _TYPE)


def answer_in(message: Message, what: str) -> float:
    """Return the number in an answer, under the name of its question; NaN where there is none."""
    if message.has_error():
        return np.nan
    answer = message.content.metric_records.get(RECORD)
    value = answer.get(what) if answer is not None else None
    return float(value) if isinstance(value, int | float) else np.nan
