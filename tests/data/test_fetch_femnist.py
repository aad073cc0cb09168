"""Fetching FEMNIST: a small table as the hub has it; and saying what lies there."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from terrafl.cli.data import app
from terrafl.data.download import fetch_entry
from terrafl.data.sets import FEMNIST
from terrafl.errors import DataError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: terrafl[parquet]")
parquet = pytest.importorskip("pyarrow.parquet", reason="as above")

FILE = "train-00000-of-00001.parquet"
NOWHERE = "https://127.0.0.1:1/"


def _png(shade) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.full((28, 28), shade, dtype=np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def _table(number) -> bytes:
    """Return a table of as many images by three writers."""
    columns = {
        "image": [{"bytes": _png(i), "path": None} for i in range(number)],
        "writer_id": [f"f{i % 3:04}_0" for i in range(number)],
        "hsf_id": [0] * number,
        "character": list(range(number)),
    }
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


TABLE = _table(30)
ENTRY = replace(
    FEMNIST, original=replace(FEMNIST.original, sha256=hashlib.sha256(TABLE).hexdigest())
)


@pytest.fixture
def server(server):
    server.body = TABLE
    return server


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("tells_length", [True, False])
def test_what_is_fetched_is_found_and_loaded(server, tmp_path, tells_length):
    server.tells_length = tells_length

    paths = fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert paths == [tmp_path / "femnist" / FILE]
    assert _files(tmp_path) == [f"femnist/{FILE}"]
    dataset = ENTRY.load(np.random.default_rng(0), tmp_path)
    assert (len(dataset.train), len(dataset.test)) == (27, 3)


@pytest.mark.parametrize("variable", ["TERRAFL_DATA", "XDG_CACHE_HOME"])
def test_without_a_root_it_goes_where_it_is_found(server, tmp_path, monkeypatch, variable):
    monkeypatch.delenv("TERRAFL_DATA", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))

    (path,) = fetch_entry(ENTRY, None, None, server.base_url)

    (status,) = ENTRY.check(None)
    assert status.ok
    assert status.path == path.parent


def test_after_a_cut_it_can_be_fetched_again(server, tmp_path):
    server.cut_at = 1000
    with pytest.raises(DataError, match="resumes where it stopped"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)
    assert not ENTRY.check(tmp_path)[0].ok

    server.cut_at = None
    fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert server.ranges == [None, None]  # nothing whole had arrived
    assert ENTRY.check(tmp_path)[0].ok


def test_of_another_table_nothing_is_kept(server, tmp_path):
    server.body = _table(29)

    with pytest.raises(DataError, match=r"must be the published file .* Nothing was"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert _files(tmp_path) == []


def test_a_table_of_the_user_s_is_read_and_nothing_fetched(server, tmp_path):
    (tmp_path / "femnist" / "data").mkdir(parents=True)
    (tmp_path / "femnist" / "data" / "mine.parquet").write_bytes(_table(20))

    assert fetch_entry(ENTRY, tmp_path, None, server.base_url) == [tmp_path / "femnist" / "data"]
    assert server.ranges == []


def test_a_damaged_table_has_to_make_way_first(server, tmp_path):
    (tmp_path / "femnist").mkdir()
    (tmp_path / "femnist" / FILE).write_bytes(TABLE[:-50])

    with pytest.raises(DataError, match=rf"{FILE} must be a Parquet file.* Delete it"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert server.ranges == []


def test_without_a_network_the_error_says_which_file_to_put_where(tmp_path):
    with pytest.raises(DataError, match="could not download") as raised:
        fetch_entry(FEMNIST, tmp_path, None, NOWHERE)

    assert f"put the file at {tmp_path / 'femnist' / FILE};" in str(raised.value)
    assert f"its hash must be sha256:{FEMNIST.original.sha256}" in str(raised.value)
    assert str(raised.value).endswith(f"LEAF's script writes in {tmp_path / 'femnist'}.")


def test_the_address_names_one_revision():
    assert FEMNIST.base_url + FEMNIST.original.name == (
        "https://huggingface.co/datasets/flwrlabs/femnist/resolve/"
        f"df739a2b09df2b5cc1ec93107659b9a9a8566487/data/{FILE}"
    )


def test_a_check_says_how_many_writers_and_examples_a_table_has(tmp_path):
    (tmp_path / "femnist").mkdir()
    (tmp_path / "femnist" / "mine.parquet").write_bytes(_table(20))

    (status,) = FEMNIST.check(tmp_path)

    assert status.note == (
        "the hub's layout, 3 writers, 20 examples (the fetched set: 3,597 and 814,277)"
    )


def test_a_check_is_brief_about_the_published_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("terrafl.data.sets.femnist._NUM_WRITERS", 3)
    monkeypatch.setattr("terrafl.data.sets.femnist._NUM_EXAMPLES", 30)
    (tmp_path / "femnist").mkdir()
    (tmp_path / "femnist" / FILE).write_bytes(TABLE)

    assert FEMNIST.check(tmp_path)[0].note == "the hub's layout, 3 writers, 30 examples"


def test_a_check_says_that_the_layout_is_leaf_s(tmp_path):
    for part, users in {"train": ["f1", "f2"], "test": ["f2"]}.items():
        data = {
            "users": users,
            "num_samples": [1] * len(users),
            "user_data": {user: {"x": [[0.5] * 784], "y": [1]} for user in users},
        }
        path = tmp_path / "femnist" / part / "all_data_0.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(data))

    (status,) = FEMNIST.check(tmp_path)

    assert status.note.startswith("LEAF's layout, 2 writers, 3 examples (the fetched set: 3,597")


def test_the_command_prints_what_lies_there(tmp_path):
    place = tmp_path / "femnist"
    place.mkdir()
    (place / FILE).write_bytes(TABLE)

    said = CliRunner().invoke(app, ["check", "femnist", "--quiet", "--root", str(tmp_path)])

    assert said.output.startswith(f"ok      {place}: the hub's layout, 3 writers, 30 examples")
