"""Updates made of a vector and a weight, for tests."""

import numpy as np

from terrafl.records import Report, Update


def an_update(client, vector, weight=1.0, *, num_examples=1, round=0, iteration=0, **fields):
    report = Report(
        client_id=client, round=round, iteration=iteration, num_examples=num_examples, **fields
    )
    return Update(report=report, vector=np.asarray(vector, dtype=np.float32), weight=float(weight))
