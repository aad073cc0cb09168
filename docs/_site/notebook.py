"""Run a notebook and report the cells whose outputs differ from the stored ones.

    python docs/_site/notebook.py docs/tutorial.ipynb            check
    python docs/_site/notebook.py docs/tutorial.ipynb --write    store the outputs

The exit code is 1 if a cell fails or gives another kind of output than the stored one. Cells with
other figures are only listed, because figures depend on versions and on the processor.
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
    # The kernel starts in an empty folder, so relative paths must become absolute.
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(p).resolve()) for p in sys.path if p)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(fresh, timeout=600, resources={"metadata": {"path": folder}})
        client.execute()
    for cell in fresh.cells:
        cell.metadata.pop("execution", None)  # times differ in every run
    return fresh


def kinds(cell: nbformat.NotebookNode) -> list[str]:
    """Return the kinds of a cell's outputs."""
    return [
        "/".join([output.output_type, *sorted(output.get("data", {}))])
        for output in cell.get("outputs", [])
    ]


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """Return a cell's outputs as plain text."""
    return [
        str(output.get("text") or output.get("data", {}).get("text/plain", ""))
        for output in cell.get("outputs", [])
    ]


def main() -> int:
    """Check or store the outputs."""
    path = Path(sys.argv[1])
    stored = nbformat.read(path, as_version=4)
    fresh = executed(stored)
    if "--write" in sys.argv:
        nbformat.write(fresh, path)
        return 0
    code = 0
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True), start=1):
        if kinds(old) != kinds(new):
            print(f"{path}, cell {number}: output must be of kind {kinds(old)}; got {kinds(new)}.")
            code = 1
        elif texts(old) != texts(new):
            print(f"{path}, cell {number}: figures differ; store the new ones with --write.")
    return code


if __name__ == "__main__":
    sys.exit(main())
