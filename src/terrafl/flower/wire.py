"""The few names that server and clients share on the wire."""

from __future__ import annotations

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

CLIENT_ID = "client-id"
NUM_EXAMPLES = "num-examples"
