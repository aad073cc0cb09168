"""Taking files out of archives, friendly and hostile."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrafl.data.archive import Archive, extract
from terrafl.data.entry import Entry
from terrafl.data.fetching import fetch_entry
from terrafl.data.files import DataFile, search_folders
from terrafl.errors import DataError

CONTENT = bytes(range(256)) * 40
FILE = DataFile(name="a.bin", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())


def _member(name, content=b"", **attributes):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in attributes.items():
        setattr(member, key, value)
    return member, content


def _packed(*members) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


GOOD = _packed(
    _member("set", type=tarfile.DIRTYPE),
    _member("set/readme.html", b"hello"),
    _member("set/a.bin", CONTENT),
)


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive" / "set.tar.gz"
    path.parent.mkdir()
    path.write_bytes(GOOD)
    return path


@pytest.fixture
def take(archive, tmp_path):
    """Extract the one wanted file; return the folder it goes to."""

    def run(packed: bytes = GOOD):
        archive.write_bytes(packed)
        extract(archive, {"set/a.bin": (FILE, tmp_path / "out" / "a.bin")}, FILE.size)
        return tmp_path / "out"

    return run


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_wanted_file_is_taken_out_and_no_other(take):
    folder = take()

    assert _files(folder) == ["a.bin"]
    assert (folder / "a.bin").read_bytes() == CONTENT


def test_names_may_start_with_a_dot_and_slash(take):
    folder = take(_packed(_member("./set/a.bin", CONTENT)))

    assert _files(folder) == ["a.bin"]


@pytest.mark.parametrize(
    "hostile",
    [
        _member("../escaped.bin", CONTENT),
        _member("set/../../escaped.bin", CONTENT),
        _member("/tmp/escaped.bin", CONTENT),
        _member("set/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        _member("set/a.bin", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        _member("set/a.bin", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
        _member("set/a.bin", type=tarfile.FIFOTYPE),
        _member("set/a.bin", type=tarfile.CHRTYPE),
    ],
    ids=lambda member: f"{member[0].name} {member[0].type!r}",
)
def test_a_member_that_reaches_outside_is_refused(take, hostile, tmp_path):
    with pytest.raises(DataError, match="plain files and folders inside it only"):
        take(_packed(hostile, _member("set/a.bin", CONTENT)))

    assert _files(tmp_path) == ["archive/set.tar.gz"]


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (_packed(_member("set/a.bin", CONTENT + b"!")), "must be a file of 10240 bytes; got 10241"),
        (_packed(_member("set/a.bin", type=tarfile.DIRTYPE)), "must be a file of 10240 bytes"),
        (_packed(_member("set/a.bin", CONTENT[:-1] + b"!")), "data must be [0-9a-f]{64}"),
        (_packed(_member("set/b.bin", CONTENT)), r"must hold set/a\.bin; it does not"),
        (GOOD[:-200], "must be a whole tar.gz archive"),
        (b"not an archive", "must be a whole tar.gz archive"),
        (gzip.compress(b"not a tar file" * 100, mtime=0), "must be a whole tar.gz archive"),
        (b"", r"must hold set/a\.bin|must be a whole tar.gz archive"),
    ],
    ids=["longer", "folder", "changed", "missing", "cut", "no gzip", "no tar", "empty"],
)
def test_of_a_wrong_archive_nothing_is_kept(take, packed, message, tmp_path):
    with pytest.raises(DataError, match=message):
        take(packed)

    assert _files(tmp_path) == ["archive/set.tar.gz"]


def test_wrong_content_does_not_replace_what_is_there(take, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.bin").write_bytes(b"old")

    with pytest.raises(DataError):
        take(_packed(_member("set/a.bin", CONTENT[:-1] + b"!")))

    assert (tmp_path / "out" / "a.bin").read_bytes() == b"old"


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_bomb_is_unpacked_no_further_than_the_published_size(take, kind):
    packed = _packed(_member("bomb", bytes(40_000_000), type=kind), _member("set/a.bin", CONTENT))
    tracemalloc.start()

    with pytest.raises(DataError, match="must unpack to what is published; got more"):
        take(packed)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, len(GOOD)), st.binary(max_size=40))
def test_any_archive_gives_the_file_or_a_data_error(take, tmp_path, position, noise):
    tar = gzip.decompress(GOOD)
    at = position * len(tar) // len(GOOD)

    try:
        folder = take(gzip.compress(tar[:at] + noise + tar[at + len(noise) :], 1))
    except DataError:
        assert _files(tmp_path) in (["archive/set.tar.gz"], ["archive/set.tar.gz", "out/a.bin"])
    else:
        assert (folder / "a.bin").read_bytes() == CONTENT


def _published(content: bytes) -> Archive:
    digest = hashlib.sha256(content).hexdigest()
    return Archive(name="set.tar.gz", size=len(content), sha256=digest)


def test_an_archive_is_known_by_its_own_bytes(archive):
    _published(GOOD).verify(archive)

    wrong = {"the sha256 of .* must be": GOOD[:-1] + b"!", "must hold .* bytes; got": GOOD[:-1]}
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
        folders=lambda root: search_folders(root, ("set",)),
        decode=decode,
        base_url="https://127.0.0.1:1/",
        folder="set",
        archive=_published(GOOD),
    )


def test_a_fetched_archive_is_unpacked_and_deleted(entry, server, tmp_path):
    server.body = GOOD

    paths = fetch_entry(entry, tmp_path / "data", None, server.source)

    assert paths == [tmp_path / "data" / "set" / "a.bin"]
    assert _files(tmp_path / "data") == ["set/a.bin"]
    assert entry.check(tmp_path / "data")[0].ok


def test_what_is_there_needs_no_archive(entry, server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.bin").write_bytes(CONTENT)

    fetch_entry(entry, tmp_path, None, server.source)

    assert server.ranges == []


def test_an_archive_that_the_user_put_there_is_used_and_kept(entry, tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(GOOD)

    fetch_entry(entry, tmp_path, None, None)

    assert _files(tmp_path) == ["set.tar.gz", "set/a.bin"]


def test_without_a_server_the_error_says_which_archive_to_put_where(entry, tmp_path):
    with pytest.raises(DataError, match="could not fetch") as raised:
        fetch_entry(entry, tmp_path, None, None)

    assert f"put the file at {tmp_path / 'set.tar.gz'} yourself" in str(raised.value)
    assert entry.archive.sha256 in str(raised.value)


def test_a_wrong_archive_of_the_user_s_is_named(entry, tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(GOOD[:-1])

    with pytest.raises(DataError, match="Delete it and fetch again"):
        fetch_entry(entry, tmp_path, None, None)


def test_a_wrong_archive_of_the_server_s_leaves_nothing(entry, server, tmp_path):
    server.body = GOOD[:-1] + b"!"

    with pytest.raises(DataError, match="is not the published file"):
        fetch_entry(entry, tmp_path, None, server.source)

    assert _files(tmp_path) == []


def test_only_the_missing_files_are_taken_out(entry, tmp_path):
    other = DataFile(name="readme.html", size=5, sha256=hashlib.sha256(b"hello").hexdigest())
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "readme.html").write_bytes(b"hello")
    before = (tmp_path / "set" / "readme.html").stat().st_ino
    (tmp_path / "set.tar.gz").write_bytes(GOOD)

    fetch_entry(replace(entry, files=(FILE, other)), tmp_path, None, None)

    assert (tmp_path / "set" / "readme.html").stat().st_ino == before
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
