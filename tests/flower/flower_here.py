"""Flower in one process: its own messages, client apps and strategies, without a network."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np

RUN_ID = 1
SHAPES = {"body.weight": (6, 4), "body.bias": (6,), "head.weight": (3, 6), "head.bias": (3,)}


@dataclass
class Node:
    """A node of the grid below: a client app and its configuration."""

    app: object
    config: dict = field(default_factory=dict)
    public_key: bytes = b""
    is_silent: bool = False


@contextmanager
def flower_process():
    """Let messages be made outside of a Flower process, as inside one."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN_ID, 1
    yield
    TaskIdentity._task_id = TaskIdentity._run_id = TaskIdentity._node_id = None


def local_grid(nodes):
    """Return a grid whose nodes answer at once, in this process."""
    from flwr.app import Context, Error, Message, RecordDict
    from flwr.proto.node_pb2 import NodeInfo
    from flwr.serverapp import Grid

    class LocalGrid(Grid):
        def __init__(self):
            self.nodes = nodes
            self.replies = {}
            self.sent = []

        def set_run(self, run):
            pass

        @property
        def run(self):
            raise NotImplementedError

        def create_message(self, *arguments, **options):
            raise NotImplementedError

        def get_node_ids(self):
            return list(self.nodes)

        def get_nodes(self):
            return [
                NodeInfo(node_id=i, public_key=node.public_key) for i, node in self.nodes.items()
            ]

        def push_messages(self, messages):
            ids = []
            for message in messages:
                message.metadata.__dict__["_message_id"] = str(uuid4())
                ids.append(message.metadata.message_id)
                node_id = message.metadata.dst_node_id
                self.sent.append((node_id, message.metadata.message_type))
                node = self.nodes[node_id]
                context = Context(RUN_ID, node_id, node.config, RecordDict(), {})
                try:
                    reply = node.app(message, context)
                except Exception as error:  # as a SuperNode does
                    reply = Message(Error(2, f"{type(error)}:<{error}>"), reply_to=message)
                self.replies[ids[-1]] = (node, reply)
            return ids

        def pull_messages(self, message_ids):
            here = [i for i in message_ids if i in self.replies]
            return [self.replies.pop(i)[1] for i in here if not self.replies[i][0].is_silent]

        def send_and_receive(self, messages, *, timeout=None):
            return self.pull_messages(self.push_messages(messages))

    return LocalGrid()


def model(seed=0):
    from flwr.app import Array, ArrayRecord

    draw = np.random.default_rng(seed)
    return ArrayRecord(
        {k: Array(draw.normal(size=s).astype(np.float32)) for k, s in SHAPES.items()}
    )


def numpy_app(
    num_examples, *, pull=0.5, answers=True, accuracy=0.5, spoil=lambda content, config: None
):
    """Return a client app without any framework: it pulls the model towards its own.

    ``spoil`` may change the reply before it is sent.
    """
    from flwr.app import Array, ArrayRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    from terrafl.flower import answer, report

    app = ClientApp()

    def own(key, shape, context):
        centre = int(context.node_config["partition-id"])
        return np.random.default_rng(centre).normal(centre, 1.0, size=shape).astype(np.float32)

    @app.train()
    def train(message, context):
        received = {k: a.numpy() for k, a in message.content["arrays"].items()}
        trained = {k: a + pull * (own(k, a.shape, context) - a) for k, a in received.items()}
        losses = [float(np.abs(trained[k] - received[k]).mean()) for k in received]
        arrays = ArrayRecord({k: Array(np.asarray(a)) for k, a in trained.items()})
        content = RecordDict({"arrays": arrays, "metrics": report(num_examples, losses)})
        spoil(content, message.content["config"])
        return Message(content, reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        from flwr.app import MetricRecord

        metrics = MetricRecord({"num-examples": num_examples, "accuracy": accuracy})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    def loss(message, context, rows):
        return float(context.node_config["partition-id"]) + (0.0 if rows is None else 0.5)

    if answers:
        answer(app, num_examples=lambda context: num_examples, loss=loss)
    return app


def federation(num_clients=12, sizes=None, **options):
    """Return nodes with large random ids, as Flower gives them, in no order."""
    draw = np.random.default_rng(7)
    ids = draw.choice(2**62, size=num_clients, replace=False)
    sizes = sizes or [100 + 10 * k for k in range(num_clients)]
    return {
        int(ids[k]): Node(numpy_app(sizes[k], **options), {"partition-id": k})
        for k in range(num_clients)
    }


def events(folder, kind=None):
    lines = (folder / "journal.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return [event for event in found if kind in (None, event["event"])]


def cohorts(folder):
    return [(e["round"], e["iteration"], e["clients"]) for e in events(folder, "cohort")]
