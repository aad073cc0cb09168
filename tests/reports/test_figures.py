"""The figures beside the page."""

import numpy as np

from terrafl.reports import compare_runs
from terrafl.reports.figures import edges_of, heat_map, tree_figure
from terrafl.reports.looks import Pictures, own_style
from terrafl.reports.sections import make_sections
from terrafl.reports.trace import Trace, read_trace
from terrafl.runs import RunFolder
from terrafl.runs.events import Cohort, Updates


def test_a_real_comparison_has_all_figures_in_both_formats(real_report):
    names = ["cost", "curves", "fairness", "norms", "participation", "seconds", "selection"]

    for ending in ("png", "svg"):
        found = sorted(file.name for file in real_report.parent.glob(f"*.{ending}"))
        assert found == [f"{name}-digits-fedavg.{ending}" for name in names]


def test_equal_runs_give_equal_figures(real_runs):
    (section,) = make_sections(compare_runs([real_runs]))
    study = section.studies[1][0]

    with own_style():
        one, other = (Pictures.of(tree_figure(study, 5)) for _ in range(2))

    assert one == other


def test_bars_are_as_wide_as_the_clients_share_of_data(real_runs):
    trace = read_trace(RunFolder(real_runs / "terraform-s0"))
    step = trace.steps[0]

    edges = edges_of(trace, step)

    sizes = [trace.federation.sizes[c] for c in step.clients]
    assert np.allclose(np.diff(edges), np.array(sizes) / sum(sizes))
    # The first quartile lies where a quarter of the data is reached, and not before.
    assert edges[step.split.k_q1] >= 0.25 > edges[step.split.k_q1 - 1]


def test_a_cell_counts_trainings_and_averages_norms(a_federation):
    trace = Trace()
    trace.add(a_federation("ab", sizes=[5, 9]))
    for number, norms in enumerate(([1.0, 2.0], [3.0, 5.0])):
        names = ["a", "b"] if number == 0 else ["b", "a"]
        key = {"round": 0, "iteration": number, "clients": names}
        trace.add(Cohort(**key))
        trace.add(Updates(**key, update_norm=norms))
    trace.add(Cohort(round=1, iteration=0, clients=["a"]))

    counts, norms = heat_map(trace, "participation"), heat_map(trace, "norm")

    # The larger client, b, comes first.
    np.testing.assert_array_equal(counts, [[2, np.nan], [2, 1]])
    np.testing.assert_array_equal(norms, [[2.5, np.nan], [3.0, np.nan]])
