"""The client trains on its own digits."""

import torch
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from digits_app.task import Net, data_of, evaluate, train
from terrafl.flower import answer, report

torch.set_num_threads(1)
app = ClientApp()


def model_in(message):
    model = Net()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    return model


@app.train()
def train_locally(message, context):
    x, y = data_of(context)
    model, config = model_in(message), context.run_config
    losses = train(
        model,
        x,
        y,
        epochs=int(config["local-epochs"]),
        learning_rate=float(config["learning-rate"]),
        seed=int(message.content["config"]["server-round"]),
    )
    arrays = ArrayRecord(model.state_dict())
    content = RecordDict({"arrays": arrays, "metrics": report(len(y), losses)})
    return Message(content, reply_to=message)


def loss(message, context, rows):
    x, y = data_of(context)
    chosen = slice(None) if rows is None else rows
    return evaluate(model_in(message), x[chosen], y[chosen])[0]


answer(app, num_examples=lambda context: len(data_of(context)[1]), loss=loss)
