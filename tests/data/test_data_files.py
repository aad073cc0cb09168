from __future__ import annotations

import gzip
import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrafl.data.files import DataFile, GzipFile
from terrafl.errors import DataError
from terrafl.folders import home, search_folders

CONTENT = b"the published content" * 20


def published(name="set.gz", content=CONTENT):
    kind = GzipFile if name.endswith(".gz") else DataFile
    return kind(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("level", [0, 1, 9])
def test_the_content_counts_whatever_the_compression(tmp_path, level):
    path = tmp_path / "set.gz"
    path.write_bytes(gzip.compress(CONTENT, level, mtime=0))

    assert published().read(path) == CONTENT


def test_a_file_that_is_not_compressed_is_read_as_it_is(tmp_path):
    path = tmp_path / "set.bin"
    path.write_bytes(CONTENT)

    assert published("set.bin").read(path) == CONTENT


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"", "must be a gzip file of 420 bytes .*; got 0 bytes"),
        (b"not gzip at all", "must be a whole gzip file; got: Not a gzip"),
        (gzip.compress(CONTENT, mtime=0)[:-1], "must be a whole gzip file"),
        (
            gzip.compress(CONTENT, mtime=0)[:30],
            "must be a whole gzip file; got: Compressed file ended",
        ),
        (gzip.compress(CONTENT, mtime=0) + b"!", "must be a whole gzip file"),
        (gzip.compress(CONTENT[:-1], mtime=0), "got 419 bytes with [0-9a-f]{64}"),
        (gzip.compress(CONTENT + b"!", mtime=0), "got more than 420 bytes"),
        (gzip.compress(CONTENT[:-1] + b"!", mtime=0), "got 420 bytes with [0-9a-f]{64}"),
        (b"\0" * 5000, "must be a whole gzip file"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, stored, message):
    path = tmp_path / "set.gz"
    path.write_bytes(stored)

    with pytest.raises(DataError, match=message) as raised:
        published().read(path)

    assert str(path) in str(raised.value)


@pytest.fixture
def peak_memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_a_bomb_is_unpacked_no_further_than_the_published_size(tmp_path, peak_memory):
    path = tmp_path / "set.gz"
    path.write_bytes(gzip.compress(bytes(1_000_000)))  # about a kilobyte
    tracemalloc.reset_peak()

    with pytest.raises(DataError, match="got more than 420 bytes"):
        published().read(path)

    assert peak_memory() < 300_000


def test_a_file_too_large_is_not_read_to_its_end(tmp_path, peak_memory):
    path = tmp_path / "set.gz"
    with path.open("wb") as stream:
        stream.truncate(10_000_000)

    with pytest.raises(DataError, match="must be a whole gzip file"):
        published().read(path)

    assert peak_memory() < 300_000


@settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200), st.integers(0, 60), st.booleans())
def test_any_bytes_are_the_content_or_a_data_error(tmp_path, noise, position, replace):
    path = tmp_path / "set.gz"
    good = gzip.compress(CONTENT, mtime=0)
    tail = good[position + len(noise) :] if replace else good[position:]
    path.write_bytes(good[:position] + noise + tail)

    try:
        content = published().read(path)
    except DataError:
        return
    assert content == CONTENT


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(DataError, match="must be a whole gzip file; got"):
        published().read(tmp_path)


def test_a_given_folder_is_the_only_one_searched(tmp_path, monkeypatch):
    monkeypatch.setenv("TERRAFL_DATA", "/elsewhere")

    folders = search_folders(tmp_path, ("long-name", "short"), (Path("/system"),))

    assert folders == (tmp_path, tmp_path / "long-name", tmp_path / "short")


def test_the_usual_places_come_in_order(monkeypatch):
    monkeypatch.setenv("TERRAFL_DATA", "/data")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")

    folders = search_folders(None, ("long-name", "short"), (Path("/system"),))

    expected = ["/data", "/data/long-name", "/data/short", "/cache/terrafl/long-name", "/system"]
    assert [str(folder) for folder in folders] == expected


@pytest.mark.parametrize("cache", [None, "", "relative"])
def test_without_settings_the_cache_is_in_the_home_folder(monkeypatch, cache):
    monkeypatch.delenv("TERRAFL_DATA", raising=False)
    monkeypatch.setenv("HOME", "/people/me")
    if cache is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", cache)

    assert search_folders(None, ("set",)) == (Path("/people/me/.cache/terrafl/set"),)
    assert home(None) == Path("/people/me/.cache/terrafl")


def test_what_is_fetched_goes_to_the_first_folder_that_is_searched(tmp_path, monkeypatch):
    monkeypatch.setenv("TERRAFL_DATA", "/data")

    assert home(None) == Path("/data")
    assert home(tmp_path) == tmp_path
