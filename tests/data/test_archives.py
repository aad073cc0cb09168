"""Unpacking archives, valid and hostile."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import stat
import tarfile
import tracemalloc
import zipfile
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrafl.data.archives import Archive, unpacked
from terrafl.data.download import fetch_entry
from terrafl.data.entry import Entry
from terrafl.data.files import DataFile
from terrafl.errors import DataError

CONTENT = bytes(range(256)) * 40
FILE = DataFile(name="a.bin", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
LIMIT = 100_000
NAMES = {"tar": "set.tar.gz", "zip": "set.zip"}


def _member(name, content=b"", **attributes):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in attributes.items():
        setattr(member, key, value)
    return member, content


def _tar(*members) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _zip(contents) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _link(name) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


GOOD = _tar(
    _member("set", type=tarfile.DIRTYPE),
    _member("set/readme.html", b"hello"),
    _member("set/a.bin", CONTENT),
)
BOTH = {"tar": GOOD, "zip": _zip({"set/": b"", "set/readme.html": b"hello", "set/a.bin": CONTENT})}


@pytest.fixture
def unpack(tmp_path):
    """Unpack an archive; return the content of every file by its path."""

    def run(kind, packed, progress=None):
        path = tmp_path / NAMES[kind]
        path.write_bytes(packed)
        with unpacked(path, LIMIT, progress) as folder:
            return {name: (folder / name).read_bytes() for name in _files(folder)}

    return run


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", BOTH)
def test_all_files_are_unpacked_and_deleted_afterwards(unpack, kind, tmp_path):
    heard = []

    contents = unpack(kind, BOTH[kind], lambda *news: heard.append(news))

    assert contents == {"set/readme.html": b"hello", "set/a.bin": CONTENT}
    assert heard == [(f"unpacking {NAMES[kind]}", n, 10245) for n in (0, 5, 10245)]
    assert [path.name for path in tmp_path.iterdir()] == [NAMES[kind]]


def test_names_may_start_with_a_dot_and_slash(unpack):
    assert list(unpack("tar", _tar(_member("./set/a.bin", CONTENT)))) == ["set/a.bin"]


HOSTILE_TAR = [
    _member("../escaped.bin", CONTENT),
    _member("set/../../escaped.bin", CONTENT),
    _member("/tmp/escaped.bin", CONTENT),
    _member("set/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    _member("set/a.bin", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    _member("set/a.bin", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
    _member("set/a.bin", type=tarfile.FIFOTYPE),
    _member("set/a.bin", type=tarfile.CHRTYPE),
]
HOSTILE_ZIP = ["../escaped.bin", "set/../../escaped.bin", "/tmp/escaped.bin", _link("set/link")]


@pytest.mark.parametrize(
    ("kind", "packed"),
    [
        *(("tar", _tar(member, _member("set/b.bin", CONTENT))) for member in HOSTILE_TAR),
        *(("zip", _zip({"set/b.bin": CONTENT, member: b"/etc/passwd"})) for member in HOSTILE_ZIP),
    ],
    ids=[*(f"{m.name} {m.type!r}" for m, _ in HOSTILE_TAR), *map(str, HOSTILE_ZIP)],
)
def test_a_member_that_reaches_outside_is_refused(unpack, kind, packed, tmp_path):
    with pytest.raises(DataError, match="must hold only plain files and folders inside it"):
        unpack(kind, packed)

    assert _files(tmp_path) == [NAMES[kind]]


@pytest.mark.parametrize(
    ("kind", "packed"),
    [
        ("tar", GOOD[:-200]),
        ("tar", b"not an archive"),
        ("tar", gzip.compress(b"not a tar file" * 100, mtime=0)),
        ("tar", b""),
        ("tar", _tar(_member("set/a.bin", CONTENT), _member("set/a.bin", CONTENT))),
        ("zip", BOTH["zip"][:-200]),
        ("zip", b"not an archive"),
        ("zip", b""),
        ("zip", BOTH["zip"].replace(b"set/a.bin", b"set/b.bin", 1)),
    ],
    ids=[
        "tar cut",
        "no gzip",
        "no tar",
        "no bytes",
        "twice",
        "zip cut",
        "no zip",
        "empty",
        "renamed",
    ],
)
def test_of_a_broken_archive_nothing_is_kept(unpack, kind, packed, tmp_path):
    with pytest.raises(DataError, match="must be a whole archive, with room to unpack it; got"):
        unpack(kind, packed)

    assert _files(tmp_path) == [NAMES[kind]]


BOMBS = {
    **{
        f"tar {kind!r}": _tar(_member("bomb", bytes(40_000_000), type=kind))
        for kind in (tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME)
    },
    "zip": _zip({"bomb": bytes(40_000_000)}),
    "zip of many": _zip({str(number): bytes(LIMIT // 10) for number in range(11)}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_is_unpacked(unpack, name, tmp_path):
    tracemalloc.start()

    with pytest.raises(DataError, match=f"must unpack to at most {LIMIT} bytes; got more"):
        unpack(name[:3], BOMBS[name])

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert _files(tmp_path) == [NAMES[name[:3]]]


def test_a_zip_member_longer_than_it_says_is_refused(unpack):
    packed = bytearray(_zip({"bomb": bytes(40_000_000)}))
    size = (40_000_000).to_bytes(4, "little")
    for _ in range(2):  # in the member's header and in the directory
        at = packed.index(size)
        packed[at : at + 4] = (1000).to_bytes(4, "little")

    with pytest.raises(DataError, match=r"must be a whole archive.*CRC"):
        unpack("zip", bytes(packed))


def test_what_a_killed_attempt_left_is_not_kept(unpack, tmp_path):
    (tmp_path / "set.zip.unpacked").mkdir()
    (tmp_path / "set.zip.unpacked" / "stale.bin").touch()

    assert sorted(unpack("zip", BOTH["zip"])) == ["set/a.bin", "set/readme.html"]


@pytest.mark.parametrize("kind", BOTH)
@settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.floats(0, 1), st.binary(max_size=40))
def test_any_archive_is_unpacked_or_refused_and_leaves_nothing(
    unpack, tmp_path, kind, share, noise
):
    good = gzip.decompress(GOOD) if kind == "tar" else BOTH["zip"]
    at = int(share * len(good))
    packed = good[:at] + noise + good[at + len(noise) :]

    with contextlib.suppress(DataError):
        unpack(kind, gzip.compress(packed, 1) if kind == "tar" else packed)

    assert _files(tmp_path) == [NAMES[kind]]


def _published(content: bytes) -> Archive:
    digest = hashlib.sha256(content).hexdigest()
    return Archive(
        name="set.tar.gz", size=len(content), sha256=digest, inside="set", unpacked_limit=LIMIT
    )


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "set.tar.gz"
    path.write_bytes(GOOD)
    return path


def test_an_archive_is_known_by_its_own_bytes(archive):
    _published(GOOD).verify(archive)

    wrong = {"the sha256 of .* must be": GOOD[:-1] + b"!", "must have .* bytes; got": GOOD[:-1]}
    for message, content in wrong.items():
        archive.write_bytes(content)
        with pytest.raises(DataError, match=message):
            _published(GOOD).verify(archive)
    with pytest.raises(DataError, match="must be readable"):
        _published(GOOD).verify(archive.parent)


def test_an_archive_of_unknown_length_is_known_by_its_checksum_and_bounded(archive):
    published = replace(_published(GOOD), size=None)
    published.verify(archive)
    archive.write_bytes(GOOD[:-1])

    with pytest.raises(DataError, match=r"the sha256 of .* must be"):
        published.verify(archive)
    assert published.limit == 10**9


@pytest.fixture
def entry() -> Entry[bytes]:
    def decode(contents, generator):
        raise NotImplementedError

    return Entry(
        name="set",
        title="a set",
        num_train=1,
        num_test=1,
        num_classes=1,
        files=(FILE,),
        decode=decode,
        subfolders=("set",),
        base_url="https://127.0.0.1:1/",
        archive=_published(GOOD),
    )


def test_a_fetched_archive_is_unpacked_and_deleted(entry, server, tmp_path):
    server.body = GOOD

    paths = fetch_entry(entry, tmp_path / "data", None, server.base_url)

    assert paths == [tmp_path / "data" / "set" / "a.bin"]
    assert _files(tmp_path / "data") == ["set/a.bin"]
    assert entry.check(tmp_path / "data")[0].ok


def test_what_is_there_needs_no_archive(entry, server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.bin").write_bytes(CONTENT)

    fetch_entry(entry, tmp_path, None, server.base_url)

    assert server.ranges == []


def test_an_archive_that_the_user_put_there_is_used_and_kept(entry, tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(GOOD)

    fetch_entry(entry, tmp_path)

    assert _files(tmp_path) == ["set.tar.gz", "set/a.bin"]


def test_without_a_server_the_error_says_which_archive_to_put_where(entry, tmp_path):
    with pytest.raises(DataError, match="could not download") as raised:
        fetch_entry(entry, tmp_path)

    assert f"put the file at {tmp_path / 'set.tar.gz'};" in str(raised.value)
    assert entry.archive.sha256 in str(raised.value)


def test_a_wrong_archive_of_the_user_s_is_named(entry, tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(GOOD[:-1])

    with pytest.raises(DataError, match="Delete it and fetch again"):
        fetch_entry(entry, tmp_path)


def test_a_wrong_archive_of_the_server_s_leaves_nothing(entry, server, tmp_path):
    server.body = GOOD[:-1] + b"!"

    with pytest.raises(DataError, match="must be the published file"):
        fetch_entry(entry, tmp_path, None, server.base_url)

    assert _files(tmp_path) == []


def test_a_verified_archive_without_the_file_is_refused(entry, server, tmp_path):
    server.body = _tar(_member("set/b.bin", CONTENT))
    entry = replace(entry, archive=_published(server.body))

    with pytest.raises(DataError, match=r"set/a\.bin must be readable"):
        fetch_entry(
            replace(entry, archive=_published(server.body)), tmp_path, None, server.base_url
        )

    assert _files(tmp_path) == []


def test_only_the_missing_files_are_taken_out(entry, tmp_path):
    other = DataFile(name="readme.html", size=5, sha256=hashlib.sha256(b"hello").hexdigest())
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "readme.html").write_bytes(b"hello")
    before = (tmp_path / "set" / "readme.html").stat().st_ino
    (tmp_path / "set.tar.gz").write_bytes(GOOD)

    fetch_entry(replace(entry, files=(FILE, other)), tmp_path)

    assert (tmp_path / "set" / "readme.html").stat().st_ino == before
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
