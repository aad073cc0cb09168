"""UCI HAR from its official archive: a small one in its layout, fetched and read."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrafl.data.download import fetch_entry
from terrafl.data.npz import ArraysFile, digest_of
from terrafl.data.sets import HAR
from terrafl.data.sets.har import chains, read_windows
from terrafl.errors import DataError

ZIP = "human+activity+recognition+using+smartphones.zip"
NOWHERE = "https://127.0.0.1:1/"
CHANNELS = [f"{kind}_{axis}" for kind in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"]


def _text(rows) -> bytes:
    """Write numbers as the publisher's system does: seven decimals, exponents of three digits."""
    numbers = [[f"{number: .7e}" for number in row] for row in rows]
    lines = ["".join(f" {n[:-2]}0{n[-2:]}" for n in row) for row in numbers]
    return "".join(f"{line}\n" for line in lines).encode()


def _windows(num_chains, length, seed):
    """Return windows of as many recordings, each window half of the one before."""
    steps = np.random.default_rng(seed).integers(
        -9999999, 9999999, (num_chains, 9, 64 * length + 64)
    )
    signals = steps / 1e7
    return np.concatenate(
        [[signal[:, 64 * i : 64 * i + 128] for i in range(length)] for signal in signals]
    )


# Subjects 1 and 3 are the publisher's to train on, subject 2 to test on; three recordings each.
X = {"train": _windows(6, 4, seed=0), "test": _windows(3, 4, seed=1)}
Y = {"train": np.repeat([5, 1, 2] * 2, 4), "test": np.repeat([5, 1, 6], 4)}
SUBJECT = {"train": np.repeat([1, 3], 12), "test": np.repeat([2], 12)}
TEXTS = {
    f"{part}/{name}_{part}.txt": content
    for part in ("train", "test")
    for name, content in {
        **{f"Inertial Signals/{c}": _text(X[part][:, i]) for i, c in enumerate(CHANNELS)},
        "y": "".join(f"{label}\n" for label in Y[part]).encode(),
        "subject": "".join(f"{number}\n" for number in SUBJECT[part]).encode(),
    }.items()
}


def _zip(files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _packed(texts) -> bytes:
    inner = _zip({f"UCI HAR Dataset/{name}": content for name, content in texts.items()})
    return _zip({"UCI HAR Dataset.names": b"about", "UCI HAR Dataset.zip": inner})


PACKED = _packed(TEXTS)


def _known_by(packed: bytes):
    """Return the entry whose archive is this one."""
    digest = hashlib.sha256(packed).hexdigest()
    archive = replace(HAR.original, size=len(packed), sha256=digest)
    return replace(HAR, files=(replace(HAR.files[0], archive=archive),), original=archive)


ENTRY = _known_by(PACKED)


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "uci-har" / ZIP
    path.parent.mkdir()
    path.write_bytes(PACKED)
    return path


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_arrays_are_what_the_texts_say(archive):
    arrays = read_windows(archive)

    assert np.array_equal(arrays["x"], np.concatenate([X["train"], X["test"]]).astype(np.float32))
    assert arrays["y"].tolist() == [label - 1 for part in Y.values() for label in part]
    assert arrays["subject"].tolist() == [0] * 12 + [2] * 12 + [1] * 12
    assert arrays["chain"].tolist() == np.repeat(np.arange(9), 4).tolist()


def test_the_arrays_have_the_types_of_har_npz(archive):
    arrays = read_windows(archive)

    found = {name: (a.dtype.str, a.shape[1:]) for name, a in arrays.items()}
    assert found == {
        "x": ("<f4", (9, 128)),
        "y": ("|u1", ()),
        "subject": ("|u1", ()),
        "chain": ("<i2", ()),
    }


def test_runs_are_found_whatever_the_order_of_the_windows():
    x = np.concatenate([X["train"], X["test"]]).astype(np.float32)
    owner = np.concatenate([SUBJECT["train"], SUBJECT["test"]]).astype(np.uint8)
    shuffled = np.random.default_rng(2).permutation(len(x))

    chain = chains(x[shuffled], owner[shuffled])

    truth = np.repeat(np.arange(9), 4)[shuffled]
    assert len(set(zip(chain.tolist(), truth.tolist(), strict=True))) == 9
    assert len(np.unique(chain)) == 9


def test_a_window_of_another_subject_s_is_no_neighbour():
    x = X["train"][:2].astype(np.float32)

    assert chains(x, np.array([0, 0], dtype=np.uint8)).tolist() == [0, 0]
    assert chains(x, np.array([0, 1], dtype=np.uint8)).tolist() == [0, 1]


def test_a_signal_that_repeats_itself_ends():
    still, before = np.zeros((9, 128), dtype=np.float32), X["train"][0].astype(np.float32)
    before[:, 64:] = 0

    assert chains(np.stack([still]), np.zeros(1, dtype=np.uint8)).tolist() == [-1]
    assert chains(np.stack([still, before]), np.zeros(2, dtype=np.uint8)).tolist() == [0, 0]


def test_the_archive_is_read_once(archive, tmp_path):
    first = ENTRY.load(np.random.default_rng(0), tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}

    second = ENTRY.load(np.random.default_rng(0), tmp_path)

    assert len(kept) == 4
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert np.array_equal(first.train.x, second.train.x)
    assert np.unique(first.train.group).tolist() == ["00", "01", "02"]
    assert len(first.test) == 12  # of three runs of four windows, one of each subject


def test_the_arrays_file_comes_first_where_both_are(archive, tmp_path):
    arrays = {name: a[::-1].copy() for name, a in read_windows(archive).items()}
    np.savez(archive.with_name("har.npz"), **arrays)
    known = ArraysFile(name="har.npz", limit=2**20, sha256=digest_of(arrays))
    entry = replace(ENTRY, files=(replace(ENTRY.files[0], arrays=known),))

    dataset = entry.load(np.random.default_rng(0), tmp_path)

    assert [path.name for path in fetch_entry(entry, tmp_path, None, NOWHERE)] == ["har.npz"]
    assert np.unique(dataset.train.group[:8]).tolist() == ["01"]  # the last subject, first
    assert not list(tmp_path.rglob("*.npy"))


def test_what_is_fetched_is_found_and_loaded(server, tmp_path):
    server.body = PACKED
    heard = []

    paths = fetch_entry(ENTRY, tmp_path, lambda *news: heard.append(news), server.base_url)

    (status,) = ENTRY.check(tmp_path)
    assert paths == [tmp_path / "uci-har" / ZIP] == [status.path]
    assert status.ok
    assert heard[-1] == (ZIP, len(PACKED), len(PACKED))
    assert len(ENTRY.load(np.random.default_rng(0), tmp_path).train) == 24


def test_after_a_cut_it_can_be_fetched_again(server, tmp_path):
    server.body, server.cut_at = PACKED, 1000
    with pytest.raises(DataError, match="resumes where it stopped"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    server.cut_at = None
    fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert server.ranges == [None, None]  # nothing whole had arrived
    assert _files(tmp_path) == [f"uci-har/{ZIP}"]


def test_of_another_archive_nothing_is_kept(server, tmp_path):
    server.body = PACKED[:-1] + b"!"

    with pytest.raises(DataError, match=r"must be the published file .* Nothing was"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert _files(tmp_path) == []


def test_a_damaged_archive_is_refused_and_replaced(server, archive, tmp_path):
    server.body = PACKED
    archive.write_bytes(PACKED[:-1])
    with pytest.raises(DataError, match=r"must have .* bytes; .* Run `terrafl data fetch har "):
        ENTRY.load(np.random.default_rng(0), tmp_path)

    fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert archive.read_bytes() == PACKED


def test_damaged_arrays_have_to_make_way_first(server, tmp_path):
    (tmp_path / "har.npz").write_bytes(b"mine")

    with pytest.raises(DataError, match=r"har\.npz must be a file that numpy.* Delete it"):
        fetch_entry(ENTRY, tmp_path, None, server.base_url)

    assert server.ranges == []
    assert (tmp_path / "har.npz").read_bytes() == b"mine"


def test_without_a_network_the_error_says_which_file_to_put_where(tmp_path):
    with pytest.raises(DataError, match="could not download") as raised:
        fetch_entry(HAR, tmp_path, None, NOWHERE)

    assert f"put the file at {tmp_path / 'uci-har' / ZIP};" in str(raised.value)
    assert f"its hash must be sha256:{HAR.original.sha256}" in str(raised.value)


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (b"no zip", "File is not a zip file"),
        (_zip({"UCI HAR Dataset.zip": b"no zip"}), "File is not a zip file"),
        (_zip({"UCI HAR Dataset.names": b"about"}), "no item named 'UCI HAR Dataset.zip'"),
        (_packed({**TEXTS, "test/y_test.txt": b"5\n"}), "36 windows, 25 labels and 36 subjects"),
        (_packed({**TEXTS, "test/y_test.txt": b"0\n" * 12}), "y that is not counted from 1"),
        (_packed({**TEXTS, "test/y_test.txt": b"nan\n" * 12}), "y that is not counted from 1"),
        (_packed({**TEXTS, "train/subject_train.txt": b"one\n"}), "could not convert string"),
        (
            _packed({**TEXTS, "test/Inertial Signals/total_acc_z_test.txt": b" 1 2 3\n"}),
            "cannot reshape array",
        ),
        (
            _packed({**TEXTS, "test/Inertial Signals/total_acc_z_test.txt": b"1 " * 128}),
            "must have the same shape",
        ),
        (_packed({**TEXTS, "test/y_test.txt": bytes(1 << 25)}), "more than 16777216 bytes"),
        (_packed({n: t for n, t in TEXTS.items() if "gyro" not in n}), "no item named"),
    ],
)
def test_an_archive_of_other_things_is_refused_in_one_sentence(tmp_path, packed, message):
    (tmp_path / ZIP).write_bytes(packed)

    with pytest.raises(DataError, match="must be UCI HAR's archive; got") as raised:
        _known_by(packed).load(np.random.default_rng(0), tmp_path)

    assert message in str(raised.value)
    assert not list(tmp_path.rglob("*.npy"))


@settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    name=st.sampled_from(sorted(TEXTS)),
    share=st.floats(0, 1),
    noise=st.binary(max_size=12) | st.sampled_from([b"9" * 400, b"-1", b"NaN", b"\n5\n", b"1e999"]),
)
def test_any_texts_give_the_windows_or_a_data_error(tmp_path, name, share, noise):
    at = int(share * len(TEXTS[name]))
    text = TEXTS[name][:at] + noise + TEXTS[name][at + len(noise) :]
    (tmp_path / ZIP).write_bytes(_packed(TEXTS | {name: text}))

    try:
        arrays = read_windows(tmp_path / ZIP)
    except DataError:
        return
    assert {len(array) for array in arrays.values()} == {36}


@settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, len(PACKED)), st.binary(max_size=40))
def test_any_archive_gives_the_windows_or_a_data_error(tmp_path, at, noise):
    (tmp_path / ZIP).write_bytes(PACKED[:at] + noise + PACKED[at + len(noise) :])

    try:
        arrays = read_windows(tmp_path / ZIP)
    except DataError:
        return
    assert len(arrays["x"]) == 36
