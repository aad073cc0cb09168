"""Fetching the files of a data set: which, and where to."""

from __future__ import annotations

from pathlib import Path

import pytest

from terrafl.data.entry import Entry
from terrafl.data.fetching import fetch_entry
from terrafl.data.files import search_folders


@pytest.fixture
def entry(tmp_path, file) -> Entry:
    def folders(root: Path | None) -> tuple[Path, ...]:
        return search_folders(root, ("set",), (tmp_path / "system",))

    def decode(contents, generator):
        raise NotImplementedError

    return Entry(
        name="set",
        title="a set",
        num_train=1,
        num_test=1,
        num_classes=1,
        files=(file,),
        folders=folders,
        remedy="Fetch it.",
        decode=decode,
        base_url="https://127.0.0.1:1/",
        folder="set",
    )


def test_what_is_fetched_is_found(entry, server, tmp_path):
    paths = fetch_entry(entry, tmp_path / "data", None, server.source)

    (status,) = entry.check(tmp_path / "data")
    assert paths == [tmp_path / "data" / "set" / "set.gz"] == [status.path]
    assert status.ok


def test_what_is_there_is_not_fetched(entry, server, tmp_path, stored):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "set.gz").write_bytes(stored)

    paths = fetch_entry(entry, tmp_path / "data", None, server.source)

    assert paths == [tmp_path / "data" / "set.gz"]
    assert server.ranges == []


def test_a_damaged_file_of_the_users_is_replaced_where_it_lies(entry, server, tmp_path, stored):
    damaged = tmp_path / "data" / "set.gz"
    damaged.parent.mkdir()
    damaged.write_bytes(b"damaged")

    paths = fetch_entry(entry, tmp_path / "data", None, server.source)

    assert paths == [damaged]
    assert damaged.read_bytes() == stored


def test_a_damaged_file_of_the_systems_is_left_and_fetched_beside(
    entry, server, tmp_path, monkeypatch
):
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "data"))
    damaged = tmp_path / "system" / "set.gz"
    damaged.parent.mkdir()
    damaged.write_bytes(b"damaged")

    paths = fetch_entry(entry, None, None, server.source)

    assert paths == [tmp_path / "data" / "set" / "set.gz"]
    assert damaged.read_bytes() == b"damaged"
    assert entry.check(None)[0].ok
