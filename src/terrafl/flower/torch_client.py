"""The client's side of an algorithm, for networks of torch."""

import json
from collections.abc import Callable

import torch
from flwr.app import Message
from torch import nn

from terrafl.algorithms import ALGORITHMS, Algorithm, FedAvg, LocalStep
from terrafl.errors import ConfigurationError
from terrafl.flower import wire
from terrafl.settings import named


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
