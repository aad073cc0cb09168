"""HBase: clients drawn in proportion to their data, averaged plainly.

References
----------
Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, as described in
Chen and Vikalo, "Heterogeneity-Guided Client Sampling: Towards Fast and Efficient Non-IID
Federated Learning", NeurIPS 2024, section 2.
"""

from dataclasses import dataclass
from typing import ClassVar

from terrafl.records import Cohort
from terrafl.selection.protocol import Averaging, Context, Selector


@dataclass(slots=True, kw_only=True)
class HBase(Selector):
    r"""Draw $K$ times, client $k$ with probability $p_k = n_k / \sum_j n_j$; average plainly.

    Size enters through the draw and therefore not again through the average: with replacement,
    the plain mean over the $K$ draws is an unbiased estimate of the mean over all examples.

    Parameters
    ----------
    replace
        Whether a client may be drawn again. A client drawn twice trains once and weighs twice.

    Notes
    -----
    The paper draws from a multinomial, with replacement; the code released with HiCS-FL draws
    without, which is ``replace=False``. Probabilities are over the clients that can be reached,
    and without replacement the cohort is smaller than $K$ when fewer than $K$ can be.
    """

    name: ClassVar[str] = "hbase"
    averaging: ClassVar[Averaging] = "plain"

    replace: bool = True

    def draw(self, context: Context) -> Cohort:
        """Draw the cohort of the round."""
        drawn = context.draw_by_size(context.clients_per_round, replace=self.replace)
        return Cohort.of(context.population.names(drawn))
