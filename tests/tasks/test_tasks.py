"""Scores against their definitions, and what a task refuses."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from terrafl.data import Dataset, Examples, Normalisation
from terrafl.errors import ConfigurationError, DataError
from terrafl.tasks import LOWEST_SCORE, TASKS, Classification, Regression, Task, score_of

NUMBERS = st.floats(-1e3, 1e3, width=32)


def a_dataset(y, num_classes=None):
    y = np.asarray(y, dtype=np.float32 if num_classes is None else np.int64)
    examples = Examples(np.zeros((len(y), 2), dtype=np.float32), y)
    return Dataset(
        name="made-up",
        train=examples,
        test=examples,
        num_classes=num_classes,
        normalisation=Normalisation(),
    )


def statistics_of(task, outputs, targets):
    return task.statistics(outputs, targets).numpy().astype(np.float64)


@pytest.mark.parametrize("task", TASKS.values())
def test_every_task_keeps_the_protocol(task):
    assert isinstance(task(), Task)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=30))
def test_r2_is_one_minus_the_residual_over_the_total_variation(pairs):
    predicted, y = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    total = ((y - y.mean()) ** 2).sum()
    outputs, targets = torch.tensor(predicted).unsqueeze(1), torch.tensor(y)

    score = score_of(Regression(), statistics_of(Regression(), outputs, targets))

    # Where the targets hardly vary, the sums of squares cancel.
    if total > 1e-6 * (y**2).sum():
        expected = 1 - ((y - predicted) ** 2).sum() / total
        assert score == pytest.approx(max(expected, LOWEST_SCORE), rel=1e-6, abs=1e-6)


def test_the_mean_has_an_r2_of_0_and_a_perfect_model_one_of_1():
    y = torch.tensor([1.0, 2.0, 6.0])
    perfect = statistics_of(Regression(), y.unsqueeze(1), y)
    mean = statistics_of(Regression(), torch.full((3, 1), 3.0), y)
    assert score_of(Regression(), perfect) == 1
    assert score_of(Regression(), mean) == pytest.approx(0)


def test_accuracy_is_the_share_of_correct_answers():
    scores = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0]])
    labels = torch.tensor([0, 1, 1])
    assert score_of(Classification(), statistics_of(Classification(), scores, labels)) == 2 / 3


@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 1), slice(1, 3)])
def test_r2_is_undefined_without_variation(rows):
    y = torch.tensor([1.0, 5.0, 5.0])
    statistics = statistics_of(Regression(), torch.zeros(3, 1), y)
    assert score_of(Regression(), statistics[rows]) is None


@pytest.mark.parametrize("output", [math.inf, math.nan, 1e30])
def test_a_diverged_model_has_the_lowest_score(output):
    y = torch.tensor([1.0, 2.0])
    statistics = statistics_of(Regression(), torch.full((2, 1), output), y)
    assert score_of(Regression(), statistics) == LOWEST_SCORE


def test_a_score_above_1_is_refused():
    class Decibels(Regression):
        def score(self, sums, count):
            return 30.0

    with pytest.raises(ConfigurationError, match=r"r2 of task regression must be at most 1"):
        score_of(Decibels(), np.ones((1, 3)))


def test_losses_are_those_of_each_example():
    outputs, y = torch.tensor([[1.0], [4.0]]), torch.tensor([3.0, 4.0])
    assert Regression().loss(outputs, y).tolist() == [4.0, 0.0]
    even = Classification().loss(torch.zeros(2, 4), torch.tensor([0, 3]))
    assert even.tolist() == pytest.approx([math.log(4)] * 2)


def test_a_network_has_one_output_per_class_or_one():
    assert Classification().num_outputs(a_dataset([0, 1, 2], num_classes=5)) == 5
    assert Regression().num_outputs(a_dataset([0.5, 1.5])) == 1


@pytest.mark.parametrize(
    ("task", "dataset", "sentence"),
    [
        (Classification(), a_dataset([0.5, 1.5]), "task classification needs class labels"),
        (Regression(), a_dataset([0, 1], num_classes=2), "needs targets that are floating-point"),
        (Regression(), a_dataset([2.5, 2.5]), "needs test targets that differ"),
    ],
)
def test_data_of_another_kind_is_refused(task, dataset, sentence):
    with pytest.raises(DataError, match=sentence):
        task.num_outputs(dataset)
