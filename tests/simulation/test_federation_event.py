"""What the first line of a journal says of the clients."""

from dataclasses import replace

import numpy as np

from terrafl.data import Dataset, Examples, FederatedData, Iid, Normalisation
from terrafl.simulation.federation import federation_event


def test_the_event_tells_how_the_data_was_partitioned():
    examples = Examples(np.zeros((8, 1), dtype=np.float32), np.arange(8) % 2)
    dataset = Dataset(
        name="set", train=examples, test=examples, num_classes=2, normalisation=Normalisation()
    )
    partition = Iid(clients=3).partition(dataset, np.random.default_rng(0))

    event = federation_event(FederatedData(dataset, replace(partition, redraws=3, repaired=2)))

    assert (event.redraws, event.repaired) == (3, 2)
    assert (event.clients, event.examples, event.size_min, event.size_max) == (3, 8, 2, 3)
    assert (list(event.ids), event.sizes) == (["0", "1", "2"], [3, 3, 2])
