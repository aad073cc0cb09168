"""The step between training and upload: which clients of a cohort a selector keeps."""

from collections.abc import Sequence
from dataclasses import replace

from terrafl.federation.selector_checks import check_cohort, check_kept
from terrafl.records import Cohort, Update
from terrafl.selection import Context, Selector, judge
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.needs import shapes


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
    check_kept(chosen, reported, method)
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
