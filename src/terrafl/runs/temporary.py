"""A folder that lives as long as somebody holds on to it."""

import shutil
import weakref
from pathlib import Path
from tempfile import mkdtemp


class TemporaryFolder:
    """A new folder, deleted with this object or at the end of the program.

    In contrast to :class:`tempfile.TemporaryDirectory`, it is deleted without a warning.

    Attributes
    ----------
    path
        The folder.
    """

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="terrafl-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
