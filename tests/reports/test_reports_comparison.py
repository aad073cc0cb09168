import dataclasses

import pytest

from terrafl.errors import RunFolderError
from terrafl.reports.collect import Run
from terrafl.reports.comparison import accuracy_at, compare, compare_runs
from terrafl.reports.tables import rows

CURVE = [(1, 10, 0, 0.1), (2, 25, 0, 0.2), (3, 25, 0, 0.3), (4, 40, 0, 0.4)]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(9, None), (10, 10), (24, 10), (25, 30), (39, 30), (40, 40), (1000, 40)],
)
def test_a_run_is_read_at_its_last_evaluation_at_or_below_the_budget(a_summary, budget, expected):
    got = accuracy_at(a_summary(curve=CURVE), budget)

    assert got == (expected if expected is None else pytest.approx(expected))


def test_the_budget_is_the_smallest_total_of_any_run(a_summary, a_group):
    cheap = a_summary("random", 0, curve=[(1, 10, 0, 0.3), (2, 20, 0, 0.5)])
    dearer = a_summary("random", 1, curve=[(1, 11, 0, 0.3), (2, 22, 0, 0.6)])
    dearest = a_summary("terraform", 0, curve=[(1, 15, 0, 0.4), (2, 31, 0, 0.9)])

    group = a_group(cheap, dearer, dearest)

    random, terraform = group.methods
    assert group.budget == 20
    assert random.equal_updates.by_seed == {0: pytest.approx(50), 1: pytest.approx(30)}
    assert terraform.equal_updates.by_seed == {0: pytest.approx(40)}


def test_a_run_without_an_evaluation_by_then_has_no_value(a_summary, a_group):
    cheap = a_summary("random", 0, curve=[(1, 10, 0, 0.3)])
    late = a_summary("terraform", 0, curve=[(1, 15, 0, 0.4)])

    _, terraform = a_group(cheap, late).methods

    assert terraform.equal_updates.by_seed == {}
    assert terraform.equal_updates.estimate is None


def test_the_leader_may_change_with_the_way_of_counting(a_summary, a_group):
    steady = a_summary("random", 0, 0.7, curve=[(1, 10, 0, 0.6), (2, 20, 0, 0.7)])
    costly = a_summary("terraform", 0, 0.8, curve=[(1, 18, 0, 0.5), (2, 36, 0, 0.8)])

    random, terraform = a_group(steady, costly).methods

    assert (random.last_round.rank, terraform.last_round.rank) == (2, 1)
    assert (random.equal_updates.rank, terraform.equal_updates.rank) == (1, 2)


def test_methods_stand_in_the_order_of_the_paper_and_others_follow(a_summary, a_group):
    names = ["mine:Own", "terraform", "oort", "hics", "poc", "hbase", "random"]

    group = a_group(*(a_summary(name) for name in names), a_summary("terraform", variant="eta=2"))

    assert [method.name for method in group.methods] == [
        *("Random", "HBase", "PoC", "HiCS-FL", "Oort", "Terraform", "Terraform (eta=2)"),
        "mine:Own",
    ]


@pytest.mark.parametrize("field", ["scenario", "dataset", "model", "profile", "algorithm"])
def test_runs_of_different_problems_or_algorithms_are_not_compared(a_summary, field):
    one = a_summary()
    other = dataclasses.replace(one, **{field: "another"})

    groups = compare([Run("one", one), Run("other", other)]).groups

    assert [len(group.methods) for group in groups] == [1, 1]


def test_the_order_of_the_runs_does_not_matter(a_summary):
    found = [
        Run(f"{name}-{seed}", a_summary(name, seed, 0.1 * seed + 0.5))
        for name in ("random", "terraform")
        for seed in range(3)
    ]

    assert compare(found) == compare(found[::-1])


def test_a_copy_of_a_run_is_not_a_second_seed(a_summary, a_group):
    (method,) = a_group(a_summary(seed=1), a_summary(seed=1), a_summary(seed=0)).methods

    assert method.seeds == (0, 1)


def test_two_different_results_for_one_seed_are_refused(a_summary, a_group):
    with pytest.raises(RunFolderError, match=r"run-0 and run-1 differ .* random, seed 3"):
        a_group(a_summary(seed=3, accuracy=0.5), a_summary(seed=3, accuracy=0.6))


def test_costs_are_means_over_seeds(a_summary, a_group):
    one = a_summary(seed=0, loss_queries=10, bytes_up=100, accuracy_participating=0.5)
    two = a_summary(seed=1, loss_queries=30, bytes_up=400, accuracy_participating=0.7)

    (method,) = a_group(one, two).methods

    assert method.costs.loss_queries == 20
    assert method.costs.bytes_up == 250
    assert method.costs.accuracy_participating_percent == pytest.approx(60)


def test_rows_are_flat_plain_and_alike(runs):
    table = rows(compare_runs([runs]))

    assert [row["selector"] for row in table] == ["random", "oort", "terraform"]
    assert len({tuple(row) for row in table}) == 1
    plain = {str, int, float, bool, type(None)}
    assert all(type(value) in plain for row in table for value in row.values())


def test_a_row_holds_percent_and_the_gap_to_the_best(runs):
    random, _, terraform = rows(compare_runs([runs]))

    assert random["seeds"] == "0 1 2"
    assert random["accuracy_percent"] == pytest.approx(80 * 8 / 9)
    assert random["accuracy_gap"] == pytest.approx((80 - 90) * 8 / 9)
    assert random["accuracy_gap_low"] < random["accuracy_gap"] < random["accuracy_gap_high"]
    assert (terraform["accuracy_rank"], terraform["accuracy_gap"]) == (1, None)
    assert terraform["equal_updates_budget"] == 80
    assert terraform["equal_updates_accuracy_percent"] == pytest.approx(90 * 5 / 6)
    assert terraform["client_updates"] == pytest.approx(8 * 14 + 1 / 3)


def test_equal_samples_are_read_as_equal_updates_are(a_summary, a_group):
    small = [(1, 10, 100, 0.3), (2, 20, 200, 0.4)]
    large = [(1, 10, 150, 0.5), (2, 20, 900, 0.6)]

    group = a_group(a_summary("random", curve=small), a_summary("hbase", curve=large))

    assert (group.budget, group.sample_budget) == (20, 200)
    assert [m.equal_samples_percent for m in group.methods] == pytest.approx([40, 50])
    assert [m.equal_updates.estimate.mean for m in group.methods] == pytest.approx([40, 60])
