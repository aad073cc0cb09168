"""Tiny ImageNet, from a small tree in its official layout."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from terrafl.data.images import decode_image
from terrafl.data.sets import TINY_IMAGENET
from terrafl.data.sets.tiny_imagenet import ImageTree
from terrafl.errors import DataError

WNIDS = ["n01443537", "n02124075", "n04067472"]  # in the order of their labels
VAL = [2, 0, 1, 1]


def _jpeg(colour, mode="RGB", side=64) -> bytes:
    stream = io.BytesIO()
    Image.new(mode, (side, side), colour).save(stream, "JPEG", quality=95)
    return stream.getvalue()


def _colour(label: int, number: int) -> tuple[int, int, int]:
    return 80 * label, 100 * number, 40


@pytest.fixture
def files() -> dict[str, bytes]:
    """Return the tree's files in the order of its checksum."""
    lines = [f"val_{i}.JPEG\t{WNIDS[y]}\t0\t0\t63\t63\n" for i, y in enumerate(VAL)]
    texts = {
        "wnids.txt": "".join(f"{WNIDS[i]}\n" for i in (2, 0, 1)).encode(),
        "words.txt": b"n00001740\tentity\n",
        "val/val_annotations.txt": "".join(reversed(lines)).encode(),
    }
    texts |= {f"train/{wnid}/{wnid}_boxes.txt": b"boxes" for wnid in WNIDS}
    train = {
        f"train/{wnid}/images/{wnid}_{i}.JPEG": _jpeg(_colour(label, i))
        for label, wnid in enumerate(WNIDS)
        for i in range(2)
    }
    val = {f"val/images/val_{i}.JPEG": _jpeg(_colour(y, 2)) for i, y in enumerate(VAL)}
    return texts | train | val


@pytest.fixture
def written(files, tmp_path):
    """Write files as a tree; return the entry that knows it."""

    def write(changed=files):
        root = tmp_path / "data" / "tiny-imagenet-200"
        for name, content in changed.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        digest = hashlib.sha256(b"".join(changed.values())).hexdigest()
        tree = ImageTree(
            name="tiny-imagenet-200",
            num_classes=3,
            num_per_class=2,
            num_val=4,
            sha256=digest,
        )
        return replace(TINY_IMAGENET, files=(tree,))

    return write


def _load(entry, tmp_path, progress=None):
    return entry.load(np.random.default_rng(0), tmp_path / "data", progress)


def test_images_come_class_by_class_with_the_validation_images_to_test_on(written, tmp_path):
    dataset = _load(written(), tmp_path)

    assert dataset.train.y.tolist() == [0, 0, 1, 1, 2, 2]
    assert dataset.test.y.tolist() == VAL
    assert dataset.train.x.shape == (6, 3, 64, 64)
    for part, numbers in ((dataset.train, [0, 1] * 3), (dataset.test, [2] * 4)):
        for x, y, number in zip(part.x, part.y, numbers, strict=True):
            centre = x[:, 32, 32].astype(int)
            assert np.abs(centre - _colour(int(y), number)).max() <= 3  # JPEG is lossy


def test_pixels_are_those_that_pillow_decodes(files, written, tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).save(stream, "JPEG")
    name = f"train/{WNIDS[0]}/images/{WNIDS[0]}_0.JPEG"

    dataset = _load(written(files | {name: stream.getvalue()}), tmp_path)

    assert np.array_equal(dataset.train.x[0].transpose(1, 2, 0), np.asarray(Image.open(stream)))


def test_a_grey_image_has_three_equal_channels(files, written, tmp_path):
    name = f"train/{WNIDS[0]}/images/{WNIDS[0]}_1.JPEG"

    dataset = _load(written(files | {name: _jpeg(70, "L")}), tmp_path)

    assert np.array_equal(dataset.train.x[1], np.full((3, 64, 64), 70))


def test_the_second_time_no_image_is_read(written, tmp_path):
    entry = written()
    first = _load(entry, tmp_path)
    for image in (tmp_path / "data").rglob("*.JPEG"):
        image.unlink()

    second = _load(entry, tmp_path)

    assert np.array_equal(second.train.x, first.train.x)
    assert np.array_equal(second.test.y, first.test.y)
    assert not second.train.x.flags.owndata


def test_a_check_looks_at_the_tree_and_not_at_the_cache(written, tmp_path):
    entry = written()
    _load(entry, tmp_path)
    assert entry.check(tmp_path / "data")[0].ok

    (tmp_path / "data" / "tiny-imagenet-200" / "val" / "images" / "val_3.JPEG").unlink()

    (status,) = entry.check(tmp_path / "data")
    assert not status.ok
    assert "val_3.JPEG must be readable" in status.problem
    assert status.size is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("words.txt", b"changed", "the sha256 of .*'s files must be"),
        ("val/images/val_0.JPEG", _jpeg((9, 9, 9)), "the sha256 of .*'s files must be"),
        ("val/images/val_0.JPEG", b"no image", "must be a whole JPEG image"),
        ("val/images/val_0.JPEG", _jpeg(0)[:300], "must be a whole JPEG image"),
        ("val/images/val_0.JPEG", _jpeg(0, side=65), "must be 64 x 64 pixels"),
        ("val/images/val_0.JPEG", bytes(1 << 16) + b"!", "must hold at most 65536 bytes"),
        ("wnids.txt", b"n01443537\nn02124075\n", "must name 3 WordNet classes"),
        ("wnids.txt", b"../../etc\nn01443537\nn02124075\n", "must name 3 WordNet classes"),
        ("wnids.txt", b"\xff\nn01443537\nn02124075\n", "must name 3 WordNet classes"),
    ],
)
def test_another_tree_is_refused_and_no_cache_kept(written, tmp_path, name, content, message):
    entry = written()
    (tmp_path / "data" / "tiny-imagenet-200" / name).write_bytes(content)

    with pytest.raises(DataError, match=message):
        _load(entry, tmp_path)

    assert not list((tmp_path / "data").rglob("*.npy"))


def test_an_annotation_that_lacks_an_image_is_refused(files, written, tmp_path):
    lines = files["val/val_annotations.txt"].splitlines(keepends=True)
    entry = written(files | {"val/val_annotations.txt": b"no tab\n" + b"".join(lines[1:])})

    with pytest.raises(DataError, match=r"must give the class of 'val_3\.JPEG'"):
        _load(entry, tmp_path)


def test_progress_is_told_every_five_hundred_images(tmp_path, files, written):
    many = {f"val/images/val_{i}.JPEG": files["val/images/val_0.JPEG"] for i in range(4, 1100)}
    lines = b"".join(f"val_{i}.JPEG\t{WNIDS[0]}\n".encode() for i in range(4, 1100))
    annotated = files["val/val_annotations.txt"] + lines
    entry = written(files | {"val/val_annotations.txt": annotated} | many)
    entry = replace(entry, files=(replace(entry.files[0], num_val=1100),))
    heard = []

    _load(entry, tmp_path, lambda *news: heard.append(news))

    assert heard == [("tiny-imagenet-200", 500, 1106), ("tiny-imagenet-200", 1000, 1106)]


def test_a_missing_tree_is_named_with_the_command_that_fetches_it(tmp_path):
    with pytest.raises(DataError, match=r"tiny-imagenet needs tiny-imagenet-200") as raised:
        _load(TINY_IMAGENET, tmp_path)

    assert "Run `terrafl data fetch tiny-imagenet --root " in str(raised.value)


def test_another_format_is_not_tried():
    stream = io.BytesIO()
    Image.new("RGB", (64, 64)).save(stream, "PNG")

    with pytest.raises(DataError, match="must be a whole JPEG image"):
        decode_image(stream.getvalue(), "a.JPEG", kind="JPEG", side=64, mode="RGB")
