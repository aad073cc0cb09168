"""Checks of a selector: when a run starts, and of every cohort that it returns."""

import inspect
import math
from collections.abc import Collection
from itertools import pairwise
from typing import Final, get_args

from terrafl.errors import ConfigurationError
from terrafl.records import Cohort, Population
from terrafl.runs.events import Decision, Event, Split
from terrafl.selection import Selector
from terrafl.selection.needs import find
from terrafl.selection.protocol import Averaging

RESERVED_EVENTS: Final = frozenset(
    # Terraform writes its split as a decision.
    event.kind
    for event in Event.__subclasses__()
    if event.kind not in (Decision.kind, Split.kind)
)
"""Names that only terrafl gives to events of a journal."""


def check_selector(selector: Selector) -> None:
    """Refuse a selector whose needs, averaging or methods are invalid."""
    name = type(selector).__name__
    needs: object = selector.needs
    if isinstance(needs, str) or not isinstance(needs, Collection):
        raise ConfigurationError(
            f"needs of {name} must be a set of names; got {needs!r}: write frozenset({{...}})."
        )
    for need in selector.needs:
        find(need)
    averagings = get_args(Averaging)
    if selector.averaging not in averagings:
        raise ConfigurationError(
            f"averaging of {name} must be one of {', '.join(averagings)}; "
            f"got {selector.averaging!r}."
        )
    for method in (selector.keep, selector.refine):
        try:
            inspect.signature(method).bind([], None)
        except TypeError:
            called = method.__name__
            raise ConfigurationError(
                f"{called} of {name} must take (reports, context); got "
                f"{called}{inspect.signature(method)}: add the parameter context."
            ) from None


def check_cohort(cohort: object, population: Population, returned_by: str) -> Cohort:
    """Return what a selector returned, if it is a valid cohort.

    Parameters
    ----------
    cohort
        What it returned.
    population
        Everybody.
    returned_by
        Selector and method, for the message.
    """
    if not isinstance(cohort, Cohort):
        raise ConfigurationError(
            f"{returned_by} must return a Cohort; got {cohort!r:.100}: use Cohort.of(client_ids)."
        )
    clients = cohort.clients
    is_ordered = all(a < b for a, b in pairwise(clients))
    has_draws = len(cohort.draws) == len(clients) and min(cohort.draws, default=1) >= 1
    if not is_ordered or not has_draws:
        raise ConfigurationError(
            f"a Cohort must have distinct clients in string order, each with a draw; {returned_by} "
            f"returned {cohort.clients!r:.100}: use Cohort.of(client_ids), which counts repeats."
        )
    try:
        population.index(clients)
    except ConfigurationError as error:
        raise ConfigurationError(f"the Cohort of {returned_by} is invalid: {error}") from None
    if cohort.weights and not _are_weights(cohort):
        raise ConfigurationError(
            f"weights of a Cohort must be one finite number of at least 0 per client; "
            f"{returned_by} returned {cohort.weights!r:.100}."
        )
    if cohort.why.get("event") in RESERVED_EVENTS:
        raise ConfigurationError(
            f"the event of a Cohort's why must not be one of terrafl's own; {returned_by} "
            f"returned {cohort.why['event']!r}: choose another name."
        )
    return cohort


def check_kept(kept: Cohort, reported: Collection[str], returned_by: str) -> None:
    """Refuse clients that did not train, or whose report was refused."""
    others = [client for client in kept.clients if client not in reported]
    if others:
        raise ConfigurationError(
            f"{returned_by} must keep clients that reported; got {others[0]!r}: "
            "choose from the reports."
        )


def check_iterations(cohort: Cohort, iteration: int, most: int, returned_by: str) -> None:
    """Refuse a round that does not end."""
    if cohort and iteration >= most:
        raise ConfigurationError(
            f"a round must end after at most {most} iterations; {returned_by} asked for another: "
            "return an empty Cohort, or raise max_iterations_per_round."
        )


def check_weights(cohort: Cohort, selector: Selector, rule: str | None) -> None:
    """Refuse given weights where something else decides the mean.

    Parameters
    ----------
    cohort
        The cohort.
    selector
        Who gave the weights.
    rule
        Name of the robust rule, if any.
    """
    if cohort.weights and (rule is not None or selector.keeps_updates):
        got = f"the robust rule {rule}" if rule else "a selector that keeps the round's updates"
        raise ConfigurationError(
            f"given weights must go with the mean of one iteration; {type(selector).__name__} "
            f"gave weights, and there is {got}: leave out one of the two."
        )


def _are_weights(cohort: Cohort) -> bool:
    is_valid = all(math.isfinite(weight) and weight >= 0 for weight in cohort.weights)
    return is_valid and len(cohort.weights) == len(cohort.clients)
