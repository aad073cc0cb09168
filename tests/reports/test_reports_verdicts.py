import pytest

from terrafl.reports import verdict


@pytest.fixture
def group_of(a_summary, a_group):
    """Build a group from accuracies by method and seed, 20 client updates in every run."""

    def build(**methods):
        return a_group(
            *(
                a_summary(selector, seed, percent / 100)
                for selector, by_seed in methods.items()
                for seed, percent in by_seed.items()
            )
        )

    return build


SAME_BUDGET = " Every run made 20 client updates: the budget was equal too."


def test_a_lead_beyond_noise(group_of):
    group = group_of(random={0: 80.0, 1: 81.0, 2: 80.5}, terraform={0: 90.0, 1: 91.1, 2: 90.4})

    assert verdict(group) == (
        "After 2 rounds Terraform leads with 90.5 %; its lead over Random is beyond noise "
        "(95 % interval over 3 seeds excludes 0)." + SAME_BUDGET
    )


def test_differences_within_noise(group_of):
    group = group_of(
        random={0: 80.0, 1: 92.0, 2: 85.0},
        oort={0: 82.0, 1: 88.0, 2: 86.0},
        terraform={0: 91.0, 1: 86.0, 2: 88.0},
    )

    assert verdict(group) == (
        "After 2 rounds Terraform leads with 88.3 %; the differences to Random and Oort are "
        "within noise (95 % intervals over 3 seeds include 0)." + SAME_BUDGET
    )


def test_a_mixed_field(group_of):
    group = group_of(
        random={0: 50.0, 1: 51.0},
        hbase={0: 40.0, 1: 41.0},
        oort={0: 90.0, 1: 85.0},
        terraform={0: 89.0, 1: 90.0},
    )

    assert verdict(group) == (
        "After 2 rounds Terraform leads with 89.5 %; its lead over Random and HBase is beyond "
        "noise, the difference to Oort is within noise (95 % intervals over 2 seeds)." + SAME_BUDGET
    )


def test_one_seed_allows_no_statement_about_noise(group_of):
    group = group_of(random={0: 80.0}, terraform={0: 90.0})

    assert verdict(group) == (
        "After 2 rounds Terraform leads with 90.0 %; one seed: no statement about noise can be "
        "made." + SAME_BUDGET
    )


def test_seeds_that_are_not_common_allow_no_statement_about_noise(group_of):
    group = group_of(random={0: 80.0, 1: 81.0}, terraform={2: 90.0, 3: 91.0})

    assert "; no two common seeds: no statement about noise can be made." in verdict(group)


def test_a_rival_with_too_few_common_seeds_is_named(group_of):
    group = group_of(random={0: 50.0, 1: 50.1}, oort={0: 60.0}, terraform={0: 90.0, 1: 90.0})

    assert "over 2 seeds excludes 0); there are too few common seeds for Oort." in verdict(group)


def test_a_rival_that_is_better_on_the_common_seeds_is_named(group_of):
    group = group_of(random={0: 50.0, 1: 50.1}, oort={0: 40.0, 1: 40.0, 2: 99.0})

    assert "on the seeds they share Random did better, beyond noise" in verdict(group)


def test_methods_with_equal_means_share_the_lead(group_of):
    group = group_of(random={0: 80.0, 1: 90.0}, terraform={0: 80.0, 1: 90.0})

    assert verdict(group).startswith(
        "After 2 rounds Random and Terraform share the lead with 85.0 %."
    )


def test_a_method_alone_has_no_rival(group_of):
    group = group_of(terraform={0: 80.0, 1: 90.0})

    assert verdict(group) == ("After 2 rounds Terraform reaches 85.0 % (only one method was run).")


def test_the_two_ways_of_counting_may_have_two_leaders(a_summary, a_group):
    steady = [(1, 10, 0, 0.6), (2, 2000, 0, 0.7)]
    costly = [(1, 1800, 0, 0.5), (2, 3600, 0, 0.8)]

    group = a_group(
        a_summary("random", 0, 0.7, curve=steady), a_summary("oort", 0, 0.8, curve=costly)
    )

    assert verdict(group) == (
        "After 2 rounds Oort leads with 80.0 %; one seed: no statement about noise can be made. "
        "At equal client updates (B = 2,000) Random leads with 70.0 %; one seed: no statement "
        "about noise can be made."
    )


def test_a_method_that_was_not_yet_evaluated_is_named(a_summary, a_group):
    early, late = [(1, 10, 0, 0.6)], [(1, 18, 0, 0.5)]

    group = a_group(a_summary("random", curve=early), a_summary("terraform", curve=late))

    assert verdict(group).endswith("reaches 60.0 %. Terraform had no evaluation by then.")
    assert verdict(group).startswith("After 1 round Random")


def test_different_numbers_of_rounds_are_told(a_summary, a_group):
    group = a_group(a_summary(rounds=30), a_summary("oort", rounds=28))

    assert verdict(group).startswith("After 28 to 30 rounds ")
