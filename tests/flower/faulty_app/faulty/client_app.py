"""A client that pulls the model towards its own; ``fault`` in its node's settings spoils that.

``nan`` and ``size`` spoil every reply. ``hang`` stops at the first request until a file is there,
or for good; each says in a file of its own when it has begun.
"""

import time
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from terrafl.flower import answer, report

app = ClientApp()


@app.train()
def train(message, context):
    settings = context.node_config
    fault, centre = settings.get("fault", ""), int(settings["partition-id"])
    if fault == "hang":
        hang(Path(settings["scratch"]), centre)
    trained = {}
    for key, array in message.content["arrays"].items():
        received = array.numpy()
        own = np.random.default_rng(centre).normal(centre, 1.0, size=received.shape)
        trained[key] = (received + 0.5 * (own - received)).astype(received.dtype)
    if fault == "nan":
        trained["head.bias"][0] = np.nan
    arrays = ArrayRecord({key: Array(array) for key, array in trained.items()})
    metrics = report(10**12 if fault == "size" else 100 + centre, [0.5, 1.5])
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)


def hang(scratch, number):
    begun = scratch / f"hanging-{number}"
    if begun.exists():
        return
    begun.touch()
    deadline = time.monotonic() + 900
    while not (scratch / f"released-{number}").exists() and time.monotonic() < deadline:
        time.sleep(0.2)


answer(app, num_examples=lambda context: 100 + int(context.node_config["partition-id"]))
