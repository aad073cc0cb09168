"""Fetching Tiny ImageNet: a small tree in its official layout, zipped as its publisher does."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from terrafl.data.download import fetch_entry
from terrafl.data.sets import TINY_IMAGENET
from terrafl.data.sets.tiny_imagenet import ImageTree
from terrafl.errors import DataError

ZIP, TREE = "tiny-imagenet-200.zip", "tiny-imagenet-200"
WNID = "n01443537"
NOWHERE = "https://127.0.0.1:1/"


def _jpeg(colour) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(stream, "JPEG")
    return stream.getvalue()


FILES = {
    "wnids.txt": f"{WNID}\n".encode(),
    "words.txt": b"n00001740\tentity\n",
    "val/val_annotations.txt": f"val_0.JPEG\t{WNID}\t0\t0\t63\t63\n".encode(),
    f"train/{WNID}/{WNID}_boxes.txt": b"boxes",
    f"train/{WNID}/images/{WNID}_0.JPEG": _jpeg("red"),
    f"train/{WNID}/images/{WNID}_1.JPEG": _jpeg("blue"),
    "val/images/val_0.JPEG": _jpeg("green"),
}


def _packed(files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.mkdir(TREE)
        for name, content in files.items():
            archive.writestr(f"{TREE}/{name}", content)
    return stream.getvalue()


UNPACKED = FILES | {"test/images/test_0.JPEG": _jpeg("grey")}
PACKED = _packed(UNPACKED)


def _known_by(packed: bytes):
    """Return the entry whose archive is this one."""
    digest = hashlib.sha256(packed).hexdigest()
    tree = ImageTree(
        name=TREE,
        num_classes=1,
        num_per_class=2,
        num_val=1,
        sha256=hashlib.sha256(b"".join(FILES.values())).hexdigest(),
    )
    archive = replace(TINY_IMAGENET.archive, size=len(packed), sha256=digest)
    return replace(TINY_IMAGENET, files=(tree,), archive=archive)


ENTRY = _known_by(PACKED)


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_is_fetched_is_found_and_loaded(server, tmp_path):
    server.body = PACKED
    heard = []

    paths = fetch_entry(ENTRY, tmp_path, lambda *news: heard.append(news), server.base_url)

    assert paths == [tmp_path / "tiny-imagenet" / TREE]
    assert _files(tmp_path) == sorted(f"tiny-imagenet/{TREE}/{name}" for name in UNPACKED)
    dataset = ENTRY.load(np.random.default_rng(0), tmp_path)
    assert (len(dataset.train), len(dataset.test)) == (2, 1)
    assert (ZIP, len(PACKED), len(PACKED)) in heard
    total = sum(map(len, UNPACKED.values()))
    assert heard[-1] == (f"unpacking {ZIP}", total, total)


def test_what_is_fetched_without_a_root_is_found_too(server, tmp_path, monkeypatch):
    monkeypatch.delenv("TERRAFL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server.body = PACKED

    paths = fetch_entry(ENTRY, None, None, server.base_url)

    (status,) = ENTRY.check(None)
    assert paths == [tmp_path / "terrafl" / "tiny-imagenet" / TREE] == [status.path]
    assert status.ok


def test_after_a_cut_it_can_be_fetched_again(server, tmp_path):
    server.body, server.cut_at = PACKED, 1000
    with pytest.raises(DataError, match="resumes where it stopped"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)
    assert _files(tmp_path) == [f"{ZIP}.part"]

    server.cut_at = None
    fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert server.ranges == [None, None]  # nothing whole had arrived
    assert ENTRY.check(tmp_path)[0].ok


def test_of_an_archive_with_another_checksum_nothing_is_kept(server, tmp_path):
    server.body = PACKED[:-1] + b"!"

    with pytest.raises(DataError, match=r"must be the published file .* Nothing was"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert _files(tmp_path) == []


def test_of_an_archive_of_another_tree_nothing_is_kept(server, tmp_path):
    server.body = _packed(FILES | {"val/images/val_0.JPEG": _jpeg("black")})

    with pytest.raises(DataError, match=r"the sha256 of .*'s files must be"):
        fetch_entry(_known_by(server.body), tmp_path, None, server.base_url)

    assert _files(tmp_path) == []


def test_an_archive_that_the_user_put_there_is_used_and_kept(tmp_path):
    (tmp_path / ZIP).write_bytes(PACKED)

    fetch_entry(ENTRY, tmp_path, None, NOWHERE)

    assert ENTRY.check(tmp_path)[0].ok
    assert (tmp_path / ZIP).read_bytes() == PACKED


def test_without_a_network_the_error_says_which_file_to_put_where(tmp_path):
    with pytest.raises(DataError, match="could not download") as raised:
        fetch_entry(TINY_IMAGENET, tmp_path, None, NOWHERE)

    assert f"put the file at {tmp_path / ZIP};" in str(raised.value)
    assert f"its hash must be sha256:{TINY_IMAGENET.archive.sha256}" in str(raised.value)


def test_a_folder_that_is_there_needs_no_archive(server, tmp_path):
    (tmp_path / ZIP).write_bytes(PACKED)
    first = fetch_entry(ENTRY, tmp_path, None, NOWHERE)
    (tmp_path / ZIP).unlink()

    assert fetch_entry(ENTRY, tmp_path, None, server.base_url) == first
    assert server.ranges == []


@pytest.mark.parametrize(
    "file", [f"{TREE}/wnids.txt", f"tiny-imagenet/{TREE}/wnids.txt", f"tiny-imagenet/{TREE}/mine"]
)
def test_another_folder_in_its_place_is_left_as_it_is(server, tmp_path, file):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_bytes(b"mine")

    with pytest.raises(DataError, match=r"must be the published .* Delete it and fetch again"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert server.ranges == []
    assert _files(tmp_path) == [file]
