"""The deal inside one alpha group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data.partition.balanced import MAX_REDRAWS, deal

sizes = st.lists(st.integers(0, 60), min_size=1, max_size=5)


def _slow_deal(log_shares, class_sizes, clients):
    """Rule 2, client by client, in plain Python."""
    held, table, total = [0] * clients, [], sum(class_sizes)
    for logs, size in zip(log_shares, class_sizes, strict=True):
        shares = [
            0.0 if held[k] >= total / clients else float(np.exp(logs[k] - max(logs)))
            for k in range(clients)
        ]
        cuts = [
            size if k == clients - 1 else int(sum(shares[: k + 1]) / sum(shares) * size)
            for k in range(clients)
        ]
        got = [cuts[0]] + [cuts[k] - cuts[k - 1] for k in range(1, clients)]
        held = [have + more for have, more in zip(held, got, strict=True)]
        table.append(got)
    return np.array(table).T


def _laws(generator, alpha, classes, clients):
    gamma = generator.standard_gamma(alpha + 1, size=(classes, clients))
    return np.log(gamma) - generator.standard_exponential((classes, clients)) / alpha


@pytest.mark.parametrize("seed", range(20))
def test_a_draw_that_serves_is_the_masked_cumulative_split_of_the_rules(seed):
    alpha, clients, train_sizes, test_sizes = 2.0, 4, [53, 40, 67], [31, 17, 25]

    dealt = deal(
        np.random.default_rng(seed), alpha, clients, np.array(train_sizes), np.array(test_sizes)
    )

    generator = np.random.default_rng(seed)
    for _ in range(dealt.redraws + 1):
        laws = _laws(generator, alpha, 3, clients)
    assert dealt.train.tolist() == _slow_deal(laws, train_sizes, clients).tolist()
    assert dealt.test.tolist() == _slow_deal(laws, test_sizes, clients).tolist()


def test_the_draw_that_is_repaired_is_the_one_that_lacked_the_fewest_examples():
    alpha, clients, sizes = 0.02, 8, [40, 40]

    dealt = deal(np.random.default_rng(0), alpha, clients, np.array(sizes), np.array([0, 0]))

    generator, least = np.random.default_rng(0), 2
    lacking = [
        sum(
            max(0, least - int(row.sum()))
            for row in _slow_deal(_laws(generator, alpha, 2, clients), sizes, clients)
        )
        for _ in range(MAX_REDRAWS + 1)
    ]
    assert dealt.repaired == min(lacking) < max(lacking)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    sizes, st.data(), st.integers(1, 6), st.sampled_from([1e-4, 0.1, 1.0]), st.integers(0, 2**32)
)
def test_every_example_is_dealt_and_nobody_has_too_little(train, data, clients, alpha, seed):
    train_sizes = np.array(train)
    train_sizes[0] += clients  # one training example each, at the least
    test_sizes = np.array(
        data.draw(st.lists(st.integers(0, 20), min_size=len(train), max_size=len(train)))
    )

    dealt = deal(np.random.default_rng(seed), alpha, clients, train_sizes, test_sizes)

    assert dealt.train.sum(axis=0).tolist() == train_sizes.tolist()
    assert dealt.test.sum(axis=0).tolist() == test_sizes.tolist()
    assert dealt.train.sum(axis=1).min() >= max(1, int(0.2 * train_sizes.sum() / clients))
    assert dealt.test.sum(axis=1).min() >= int(0.2 * test_sizes.sum() / clients)
    assert dealt.redraws <= MAX_REDRAWS


def test_a_hopeless_group_is_repaired_and_says_so():
    sizes = np.full(10, 600)

    dealt = deal(np.random.default_rng(0), 0.001, 50, sizes, sizes // 6)

    assert dealt.redraws == MAX_REDRAWS
    assert dealt.repaired > 0
    assert dealt.train.sum(axis=1).min() == 24


def test_repaired_test_examples_are_of_classes_that_the_client_trains_on():
    sizes = np.full(10, 600)

    dealt = deal(np.random.default_rng(0), 0.001, 50, sizes, sizes // 6)

    assert dealt.repaired > 0
    assert not dealt.test[dealt.train == 0].any()


def test_a_deal_that_serves_is_not_repaired():
    sizes = np.full(10, 600)

    dealt = deal(np.random.default_rng(0), 1.0, 10, sizes, sizes // 6)

    assert (dealt.redraws, dealt.repaired) == (0, 0)
