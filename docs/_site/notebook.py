"""Run a notebook from top to bottom, and say where its outputs are no longer what is stored.

    python docs/_site/notebook.py docs/tutorial.ipynb            check
    python docs/_site/notebook.py docs/tutorial.ipynb --write    store the outputs

A cell that fails, or gives another kind of output than is stored, ends it with code 1. Other
figures are named only: they depend on versions and on the processor.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def executed(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run a copy of the notebook in an empty folder."""
    fresh = nbformat.from_dict(notebook)
    # A kernel may start in the folder of the source, which is not where a reader is.
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(p).resolve()) for p in sys.path if p)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(fresh, timeout=600, resources={"metadata": {"path": folder}})
        client.execute()
    for cell in fresh.cells:
        cell.metadata.pop("execution", None)  # when it ran, which is nobody's business
    return fresh


def kinds(cell: nbformat.NotebookNode) -> list[str]:
    """Return what kinds of output a cell has."""
    return [
        "/".join([output.output_type, *sorted(output.get("data", {}))])
        for output in cell.get("outputs", [])
    ]


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """Return what a cell's outputs say in plain text."""
    return [
        str(output.get("text") or output.get("data", {}).get("text/plain", ""))
        for output in cell.get("outputs", [])
    ]


def main() -> int:
    """Check or write."""
    path = Path(sys.argv[1])
    stored = nbformat.read(path, as_version=4)
    fresh = executed(stored)
    if "--write" in sys.argv:
        nbformat.write(fresh, path)
        return 0
    code = 0
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True), start=1):
        if kinds(old) != kinds(new):
            print(f"{path}, cell {number}: gives {kinds(new)}; stored is {kinds(old)}.")
            code = 1
        elif texts(old) != texts(new):
            print(f"{path}, cell {number}: other figures than stored; make them anew by --write.")
    return code


if __name__ == "__main__":
    sys.exit(main())
