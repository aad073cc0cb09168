"""Fetching the files of a data set: which, and where to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from terrafl.data.download import fetch_entry
from terrafl.data.entry import Entry
from terrafl.data.sets import FMNIST
from terrafl.errors import DataError

NOWHERE = "https://127.0.0.1:1/"


@pytest.fixture
def entry(tmp_path, file) -> Entry:
    def decode(contents, generator):
        raise NotImplementedError

    return Entry(
        name="set",
        title="a set",
        num_train=1,
        num_test=1,
        num_classes=1,
        files=(file,),
        decode=decode,
        subfolders=("set",),
        system=(tmp_path / "system",),
        base_url="https://127.0.0.1:1/",
    )


def test_what_is_fetched_is_found(entry, server, tmp_path):
    paths = fetch_entry(entry, tmp_path / "data", None, server.base_url)

    (status,) = entry.check(tmp_path / "data")
    assert paths == [tmp_path / "data" / "set" / "set.gz"] == [status.path]
    assert status.ok


def test_what_is_there_is_not_fetched(entry, server, tmp_path, stored):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "set.gz").write_bytes(stored)

    paths = fetch_entry(entry, tmp_path / "data", None, server.base_url)

    assert paths == [tmp_path / "data" / "set.gz"]
    assert server.ranges == []


def test_a_damaged_file_of_the_users_is_replaced_where_it_lies(entry, server, tmp_path, stored):
    damaged = tmp_path / "data" / "set.gz"
    damaged.parent.mkdir()
    damaged.write_bytes(b"damaged")

    paths = fetch_entry(entry, tmp_path / "data", None, server.base_url)

    assert paths == [damaged]
    assert damaged.read_bytes() == stored


def test_a_damaged_file_of_the_systems_is_left_and_fetched_beside(
    entry, server, tmp_path, monkeypatch
):
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "data"))
    damaged = tmp_path / "system" / "set.gz"
    damaged.parent.mkdir()
    damaged.write_bytes(b"damaged")

    paths = fetch_entry(entry, None, None, server.base_url)

    assert paths == [tmp_path / "data" / "set" / "set.gz"]
    assert damaged.read_bytes() == b"damaged"
    assert entry.check(None)[0].ok


def test_without_a_network_all_that_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match="could not download") as raised:
        fetch_entry(FMNIST, tmp_path, None, NOWHERE)

    first, *others = (file.name for file in FMNIST.files)
    assert f"put the file at {tmp_path / 'fashion-mnist' / first};" in str(raised.value)
    assert str(raised.value).endswith(
        f"Put {', '.join(others)} beside it. Or on Debian `apt install dataset-fashion-mnist`."
    )


def test_what_is_there_is_not_named(entry, tmp_path, file, stored):
    (tmp_path / "set.gz").write_bytes(stored)
    files = (file, *(replace(file, name=name) for name in ("b.gz", "c.gz")))

    with pytest.raises(DataError, match=r"put the file at .*b\.gz;") as raised:
        fetch_entry(replace(entry, files=files), tmp_path, None, NOWHERE)

    assert str(raised.value).endswith(f"its hash must be md5:{file.md5}. Put c.gz beside it.")


def test_where_there_is_another_way_it_is_named_with_the_folder(entry, tmp_path):
    entry = replace(entry, alternative="copy it to {home}/set")

    with pytest.raises(DataError) as raised:
        fetch_entry(entry, tmp_path, None, NOWHERE)

    assert str(raised.value).endswith(f"Or copy it to {tmp_path / 'set'}.")
