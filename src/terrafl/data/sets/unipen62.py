"""UNIPEN62: 28 x 28 grey images of 62 kinds of handwritten characters, by writer.

Drawn from the pen strokes of UNIPEN's categories 1a, 1b and 1c. Shape and labels (0-9, A-Z, a-z)
are those of FEMNIST, but it is a different data set: accuracies cannot be compared.

References
----------
Guyon et al., "UNIPEN project of on-line data exchange and recognizer benchmarks", ICPR 1994;
Unipen Consortium, train_r01_v07, 1999, doi:10.5281/zenodo.1195803. CC BY 4.0.
"""

from collections.abc import Mapping

import numpy as np

from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.holdout import hold_out
from terrafl.data.npz import Arrays, ArraysFile

_FILE = ArraysFile(
    name="unipen62.npz",
    limit=80_000_000,
    sha256="c2c9262bd685102f2aa45d2eeeac6efbfa0c804b5f260b4467615ec4170b2dd1",
)


def _decode(contents: Mapping[str, Arrays], generator: np.random.Generator) -> Decoded:
    """Divide each writer's characters 90 to 10, with at least one test character."""
    arrays = contents[_FILE.name]
    x = arrays["images"].astype(np.uint8, copy=False)[:, np.newaxis]
    y, writer = arrays["labels"].astype(np.int64), arrays["writer"]
    names = arrays["writer_names"].astype(np.str_, copy=False)
    everything = Examples(x, y, names[writer])
    return *everything.divide(hold_out(writer, 0.1, generator)), Normalisation(255.0)


UNIPEN62 = Entry(
    name="unipen62",
    title="UNIPEN62, 28 x 28 grey images of characters by 305 writers",
    num_train=89510,
    num_test=9956,
    num_classes=62,
    files=(_FILE,),
    decode=_decode,
    subfolders=("unipen62",),
    alternative=(
        "drawn from UNIPEN (Unipen Consortium, doi:10.5281/zenodo.1195803), it has no official "
        "source: put the file at {home}/unipen62/unipen62.npz"
    ),
)
