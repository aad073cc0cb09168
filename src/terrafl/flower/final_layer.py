"""Which arrays of a model are its final layer, and what a client's update of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import ConfigurationError
from terrafl.selection.report import Need

__all__ = ["FinalLayer"]

Arrays = Mapping[str, NDArray[np.generic]]
Update = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FinalLayer:
    r"""The layer that gives the class scores.

    The magnitude of a client's update of its parameters $p_i$ is

    .. math:: |\Delta w_k| = \sqrt{\sum_i \|\Delta p^k_i\|_F^2}

    with $\Delta p^k$ the client's parameters minus the ones sent, in float64.

    Parameters
    ----------
    weight, bias
        Keys of its two arrays.
    classes_last
        Whether the weight is stored features x classes (Keras) instead of classes x features.
    """

    weight: str
    bias: str
    classes_last: bool = False

    @classmethod
    def find(cls, arrays: Arrays, name: str | None = None) -> FinalLayer:
        """Find the final layer of a model.

        Parameters
        ----------
        arrays
            The model.
        name
            The layer's name, ``head`` for ``head.weight`` and ``head.bias``. Left out, the bias
            is the last array of one dimension and the weight the last array of two dimensions
            before it that fits it, as in the state of nearly every classifier.
        """
        if name is not None:
            weight, bias = f"{name}.weight", f"{name}.bias"
        else:
            weight, bias = _last_fitting(arrays)
        if weight not in arrays or bias not in arrays or not _fits(arrays[weight], arrays[bias]):
            raise ConfigurationError(
                "final_layer must name a layer with a weight of two dimensions and a bias; "
                f"got {name!r} for a model with the arrays {', '.join(map(repr, arrays))}."
            )
        return cls(weight, bias, arrays[weight].shape[0] != len(arrays[bias]))

    def answer(self, need: Need, received: Arrays, trained: Arrays) -> float | Update:
        """Return what a selector asks about the update from one model to another."""
        weight, bias = (
            np.subtract(trained[key], received[key], dtype=np.float64)
            for key in (self.weight, self.bias)
        )
        if need == "weight_update":
            return weight.T if self.classes_last else weight
        if need == "bias_update":
            return bias
        parts = {"weight_norm": [weight], "bias_norm": [bias]}.get(need, [weight, bias])
        return float(np.sqrt(sum(np.square(part).sum() for part in parts)))


def _last_fitting(arrays: Arrays) -> tuple[str, str]:
    keys = list(arrays)
    for place in reversed(range(len(keys))):
        if arrays[keys[place]].ndim == 1:
            for key in reversed(keys[:place]):
                if _fits(arrays[key], arrays[keys[place]]):
                    return key, keys[place]
    return "", ""


def _fits(weight: NDArray[np.generic], bias: NDArray[np.generic]) -> bool:
    return weight.ndim == 2 and bias.ndim == 1 and len(bias) in weight.shape
