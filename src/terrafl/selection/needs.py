"""The registry of what a report can carry: each measurement is one entry.

A selector names entries in its ``needs``. :func:`register` adds one. Example::

    register(Measurement(name="cubed_loss", source="client", function=lambda loss: loss**3))
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, get_args

from terrafl.errors import ConfigurationError, require
from terrafl.records import MEASURED_FIELDS, Measured, Report, Vector
from terrafl.selection.final_layer import FinalLayer, norm

Need = str
"""The name of a measurement."""

Source = Literal["server", "client", "clock"]

NUMBER_BYTES: Final = 8
"""Bytes of a number on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    r"""One thing that a report can carry.

    Parameters
    ----------
    name
        The name in ``needs``.
    source
        Who measures. ``server``: the server, from the update. ``client``: the client, as the mean
        over the examples seen in training. ``clock``: the federation, as the seconds that the
        training took.
    function
        For ``server``: ``function(model, received, final_layer)`` returns the value; ``model``
        and ``received`` are flat float32 vectors. For ``client``: a function of the loss of each
        example, applied to a float64 torch tensor (in the simulator) or numpy array (by
        :func:`terrafl.flower.report`). For ``clock``: ``None``.
    shape
        ``None`` for a number. For an array, a function of the final layer that returns its shape.
    uses_final_layer
        Whether ``function`` of a ``server`` measurement reads the final layer. It is then not
        called for a model without one.
    is_signed
        Whether a number may be negative.
    wire_bytes
        What a client's report costs more on the wire with it; 0 for what is read off the model.
    metric
        The name of the metric in a Flower reply, for ``client``; left out, it is ``name``.
    module
        The module that registered it, which worker processes import; set by :func:`register`.
    """

    name: Need
    source: Source
    function: Callable[..., Any] | None = None  # Any: a torch tensor, an array or a number
    shape: Callable[[FinalLayer], tuple[int, ...]] | None = None
    uses_final_layer: bool = False
    is_signed: bool = False
    wire_bytes: int = NUMBER_BYTES
    metric: str = ""
    module: str = ""

    def __post_init__(self) -> None:
        require(self.name.isidentifier(), "name", self.name, "a Python identifier")
        sources = get_args(Source)
        must = f"one of {', '.join(sources)}"
        require(self.source in sources, f"source of {self.name}", self.source, must)
        is_clock = self.source == "clock"
        must = "None for a clock" if is_clock else "a callable"
        fits = self.function is None if is_clock else callable(self.function)
        require(fits, f"function of {self.name}", self.function, must)
        is_scalar = self.shape is None or self.source == "server"
        require(is_scalar, f"shape of {self.name}", self.shape, "None unless the server measures")
        must = "an integer of at least 0"
        require(self.wire_bytes >= 0, f"wire_bytes of {self.name}", self.wire_bytes, must)
        object.__setattr__(self, "metric", self.metric or self.name)


_REGISTRY: dict[Need, Measurement] = {}


def register(measurement: Measurement) -> Measurement:
    """Add a measurement; a module that is loaded again replaces its own.

    Call it at the top level of an importable module: worker processes import that module. A
    resumed run finds it there if the module of the selector imports it.
    """
    module = measurement.module or str(sys._getframe(1).f_globals["__name__"])
    other = _REGISTRY.get(measurement.name)
    if other is not None and other.module != module:
        raise ConfigurationError(
            f"a measurement must have a name that is not in use; {measurement.name!r} was "
            f"registered by {other.module}: choose another name."
        )
    _REGISTRY[measurement.name] = replace(measurement, module=module)
    return _REGISTRY[measurement.name]


def known() -> Mapping[Need, Measurement]:
    """Return all measurements by name, in the order of their registration."""
    return _REGISTRY


def find(name: Need) -> Measurement:
    """Return a measurement by name.

    Examples
    --------
    >>> find("squared_loss").metric
    'train_squared_loss'
    >>> find("los")
    Traceback (most recent call last):
    ...
    terrafl.errors.ConfigurationError: needs must name measurements out of update_norm, \
weight_norm, bias_norm, weight_update, bias_update, loss, squared_loss, duration_s; got 'los': \
use one of them or register it with terrafl.selection.needs.register.
    """
    if name not in _REGISTRY:
        raise ConfigurationError(
            f"needs must name measurements out of {', '.join(_REGISTRY)}; got {name!r}: use one "
            "of them or register it with terrafl.selection.needs.register."
        )
    return _REGISTRY[name]


def shapes(final_layer: FinalLayer | None) -> dict[Need, tuple[int, ...]]:
    """Return the shapes of arrays, where the final layer is known."""
    if final_layer is None:
        return {}
    return {m.name: m.shape(final_layer) for m in _REGISTRY.values() if m.shape is not None}


def modules_of(needs: Iterable[Need]) -> tuple[str, ...]:
    """Return the modules outside terrafl that a client must import to measure these."""
    found = {_REGISTRY[n].module for n in needs if n in _REGISTRY and find(n).source == "client"}
    return tuple(sorted(found - {__name__}))


def measure(
    needs: Collection[Need], vector: Vector, received: Vector, final_layer: FinalLayer | None
) -> dict[Need, Measured]:
    """Return those of the needs that the server measures from an update.

    Parameters
    ----------
    needs
        Names of measurements.
    vector
        The client's model after training.
    received
        The model that it started from.
    final_layer
        Where the final layer lies; ``None`` leaves out what depends on it.
    """
    found: dict[Need, Measured] = {}
    for name, m in _REGISTRY.items():
        is_known = final_layer is not None or not m.uses_final_layer
        if name in needs and m.source == "server" and m.function is not None and is_known:
            value = m.function(vector, received, final_layer)
            found[name] = float(value) if m.shape is None else value
    return found


def checkable_values(report: Report) -> dict[Need, Measured]:
    """Return the numbers in a report that the server can measure again."""
    checkable = [n for n, m in _REGISTRY.items() if m.source == "server" and m.shape is None]
    return {n: value for n in checkable if (value := report.value(n)) is not None}


def collect(
    report: Report,
    needs: Collection[Need],
    *,
    measured: Mapping[Need, Measured],
    told: Callable[[Measurement], Any],  # Any: what a client sends is checked later
    seconds: float,
) -> Report:
    """Return a report with all that is needed.

    Parameters
    ----------
    report
        Who reports, and on what.
    needs
        Names of measurements.
    measured
        What the server measured, see :func:`measure`.
    told
        Returns what the client measured.
    seconds
        What the clock measured.
    """
    values: dict[Need, Measured | None] = dict(measured)
    for need in needs:
        measurement = find(need)
        if measurement.source == "client":
            values[need] = told(measurement)
        elif measurement.source == "clock":
            values[need] = seconds
    return report.with_values(values)


def _register_built_in() -> None:
    from_layer = partial(Measurement, source="server", uses_final_layer=True)
    from_losses = partial(Measurement, source="client")
    part_of_model = partial(from_layer, wire_bytes=0)
    for measurement in (
        from_layer(name="update_norm", function=lambda v, r, layer: layer.update_norm(v, r)),
        from_layer(
            name="weight_norm", function=lambda v, r, layer: norm(layer.weight_update(v, r))
        ),
        from_layer(name="bias_norm", function=lambda v, r, layer: norm(layer.bias_update(v, r))),
        part_of_model(
            name="weight_update",
            function=lambda v, r, layer: layer.weight_update(v, r).reshape(layer.weight_shape),
            shape=lambda layer: layer.weight_shape,
        ),
        part_of_model(
            name="bias_update",
            function=lambda v, r, layer: layer.bias_update(v, r),
            shape=lambda layer: layer.bias_shape,
        ),
        from_losses(name="loss", function=lambda loss: loss, metric="train_loss"),
        from_losses(
            name="squared_loss", function=lambda loss: loss * loss, metric="train_squared_loss"
        ),
        Measurement(name="duration_s", source="clock"),
    ):
        register(measurement)


_register_built_in()
assert set(_REGISTRY) == MEASURED_FIELDS  # a report has an attribute for each built-in one
