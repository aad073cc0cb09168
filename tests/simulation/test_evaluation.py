"""Evaluation handed out in pieces: the bytes do not depend on who gets which."""

import numpy as np
import pytest

from terrafl.models import FEMNISTCNN, MLP
from terrafl.models.flat import FlatNetwork
from terrafl.simulation.executor import EVALUATION_BATCH, evaluation_pieces
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import arrays_of
from terrafl.simulation.local_training import LocalTraining
from terrafl.simulation.pool import Pool

TRAINING = LocalTraining(optimizer="sgd", learning_rate=0.1, epochs=1, batch_size=32)


@pytest.mark.parametrize("model", [MLP(), FEMNISTCNN()], ids=["perceptron", "convolutions"])
@pytest.mark.parametrize("num_workers", [1, 2, 3, 4])
@pytest.mark.parametrize("num_examples", [1, 499, 500, 501, 10_000, 12_345])
def test_pieces_cover_the_test_set_and_end_where_batches_do(model, num_workers, num_examples):
    layout = FlatNetwork.build(model, (1, 28, 28), 10, seed=0).layout

    pieces = evaluation_pieces(num_examples, layout, num_workers)

    starts, stops = zip(*pieces, strict=True)
    assert (starts[0], stops[-1]) == (0, num_examples)
    assert starts[1:] == stops[:-1]
    assert all(start % EVALUATION_BATCH == 0 for start in starts)


def test_a_perceptron_is_evaluated_to_the_same_bytes_by_any_number_of_workers(
    federation, examples, job
):
    data = federation([examples(8, seed=1)], [examples(2 * EVALUATION_BATCH + 300, seed=2)])
    arrays = arrays_of(data)
    with InProcess(job(data, TRAINING, model=MLP()), arrays) as alone, Pool(3) as pool:
        crew = pool.open(job(data, TRAINING, model=MLP()), arrays, most_clients=1)
        model = alone.initial_model
        expected = [part.tobytes() for part in alone.evaluate(model)]

        assert [part.tobytes() for part in crew.evaluate(model)] == expected
        assert np.frombuffer(expected[0], np.float64).size == 2 * EVALUATION_BATCH + 300
