"""A selector's answers: checked when a run starts, and after every draw, keep and refine."""

import inspect
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, get_args

from terrafl.defences.robust import Aggregation
from terrafl.errors import ConfigurationError
from terrafl.records import Cohort, Population, Update
from terrafl.runs.events import Decision, Event, Split
from terrafl.selection import Context, Selector, judge
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.needs import find, shapes
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


def check_iterations(cohort: Cohort, iteration: int, most: int, returned_by: str) -> None:
    """Refuse a round that does not end."""
    if cohort and iteration >= most:
        raise ConfigurationError(
            f"a round must end after at most {most} iterations; {returned_by} asked for another: "
            "return an empty Cohort, or raise max_iterations_per_round."
        )


def check_weights(cohort: Cohort, selector: Selector, rule: Aggregation | None) -> None:
    """Refuse given weights where something else decides the mean.

    Parameters
    ----------
    cohort
        The cohort.
    selector
        Who gave the weights.
    rule
        The robust rule, if any.
    """
    if cohort.weights and (rule is not None or selector.keeps_updates):
        got = (
            f"the robust rule {rule.name}"
            if rule is not None
            else "a selector that keeps the round's updates"
        )
        raise ConfigurationError(
            f"given weights must go with the mean of one iteration; {type(selector).__name__} "
            f"gave weights, and there is {got}: leave out one of the two."
        )


def ask_whom_to_keep(
    selector: Selector,
    context: Context,
    cohort: Cohort,
    updates: Sequence[Update],
    final_layer: FinalLayer | None,
) -> Cohort | None:
    """Return what remains of a cohort that has trained; ``None`` where all of it does.

    The selector hears valid reports only. Clients with invalid ones remain, so that the intake
    refuses them with its reason. Draws are those of the cohort, and so are its given weights
    unless the selector gives others.

    Parameters
    ----------
    selector, context
        Who chooses, and what it may know.
    cohort, updates
        Who was asked to train, and what came back.
    final_layer
        Where the final layer lies.
    """
    if type(selector).keep is Selector.keep:  # it keeps everybody: nothing to check twice
        return None
    reports, _ = judge(
        [update.report for update in updates],
        cohort=cohort.clients,
        round=context.round,
        iteration=context.iteration,
        needs=selector.needs,
        shapes=shapes(final_layer),
    )
    chosen = selector.keep(reports, context)
    if chosen is None:
        return None
    method = f"{type(selector).__name__}.keep"
    chosen = check_cohort(chosen, context.population, method)
    reported = {report.client_id for report in reports}
    others = [client for client in chosen.clients if client not in reported]
    if others:
        raise ConfigurationError(
            f"{method} must keep clients that reported; got {others[0]!r}: choose from the reports."
        )
    dropped = reported - set(chosen.clients)
    left = [i for i, client in enumerate(cohort.clients) if client not in dropped]
    given = dict(zip(cohort.clients, cohort.weights, strict=False))
    given |= dict(zip(chosen.clients, chosen.weights, strict=False))
    clients = tuple(cohort.clients[i] for i in left)
    return replace(
        chosen,
        clients=clients,
        draws=tuple(cohort.draws[i] for i in left),
        weights=tuple(given.get(client, 0.0) for client in clients) if given else (),
    )


def _are_weights(cohort: Cohort) -> bool:
    is_valid = all(math.isfinite(weight) and weight >= 0 for weight in cohort.weights)
    return is_valid and len(cohort.weights) == len(cohort.clients)
