"""Making a folder of a zip archive, friendly and hostile."""

from __future__ import annotations

import io
import shutil
import stat
import tracemalloc
import zipfile
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrafl.data.zipped import Tree, unpack
from terrafl.errors import DataError

CONTENTS = {"index.txt": b"a.bin\nsub/b.bin\n", "a.bin": bytes(range(256)) * 40, "sub/b.bin": b"b"}


@dataclass(frozen=True)
class Folder:
    """A folder whose index names its other files."""

    name: str = "set"
    size: int = sum(map(len, CONTENTS.values()))

    def files(self, path):
        yield "index.txt", 100
        for name in (path / "index.txt").read_text().split():
            yield name, 20_000

    def verify(self, path):
        if any((path / name).read_bytes() != content for name, content in CONTENTS.items()):
            raise DataError("the content must be another.")


def _packed(contents, hostile=()) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(f"set/{name}", content)
        for member in hostile:
            archive.writestr(member, b"/etc/passwd")
    return stream.getvalue()


GOOD = _packed(CONTENTS | {"test/unwanted.bin": b"hello"})


def _link(name) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


@pytest.fixture
def make(tmp_path):
    """Unpack an archive; return the folder."""

    def run(packed=GOOD, progress=None):
        (tmp_path / "set.zip").write_bytes(packed)
        unpack(tmp_path / "set.zip", Folder(), tmp_path / "out" / "set", progress)
        return tmp_path / "out" / "set"

    return run


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_folder_gets_its_files_and_no_others(make, tmp_path):
    heard = []

    folder = make(progress=lambda *news: heard.append(news))

    assert isinstance(Folder(), Tree)
    assert _files(tmp_path) == [
        "out/set/a.bin",
        "out/set/index.txt",
        "out/set/sub/b.bin",
        "set.zip",
    ]
    assert {name: (folder / name).read_bytes() for name in CONTENTS} == CONTENTS
    assert [done for _, done, _ in heard] == [16, 10256, 10257]
    assert heard[-1] == ("unpacking set.zip", Folder().size, Folder().size)


@pytest.mark.parametrize(
    "hostile",
    ["../escaped.bin", "set/../../escaped.bin", "/tmp/escaped.bin", _link("set/link"), _link("l")],
    ids=str,
)
def test_a_member_that_reaches_outside_is_refused(make, hostile, tmp_path):
    with pytest.raises(DataError, match="plain files and folders inside it only"):
        make(_packed(CONTENTS, [hostile]))

    assert _files(tmp_path) == ["set.zip"]


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (_packed(CONTENTS | {"a.bin": bytes(10240)}), "the content must be another"),
        (_packed(CONTENTS | {"a.bin": bytes(20_001)}), "a.bin must take at most 10241 bytes"),
        (_packed(CONTENTS | {"index.txt": bytes(101)}), "index.txt must take at most 100 bytes"),
        (_packed(CONTENTS | {"index.txt": b"c.bin"}), "no item named 'set/c.bin'"),
        (GOOD[:-200], "not a zip file"),
        (b"not an archive", "not a zip file"),
        (b"", "not a zip file"),
    ],
    ids=["changed", "longer", "index", "missing", "cut", "no zip", "empty"],
)
def test_of_a_wrong_archive_nothing_is_kept(make, packed, message, tmp_path):
    with pytest.raises(DataError, match=rf"does not hold the published set: .*{message}.* kept\."):
        make(packed)

    assert _files(tmp_path) == ["set.zip"]


def test_a_bomb_is_unpacked_no_further_than_a_file_may_be_long(make):
    packed = _packed(CONTENTS | {"a.bin": bytes(40_000_000)})
    tracemalloc.start()

    with pytest.raises(DataError, match=r"a\.bin must take at most"):
        make(packed)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_what_a_killed_attempt_left_is_not_kept(make, tmp_path):
    (tmp_path / "out" / "set.part").mkdir(parents=True)
    (tmp_path / "out" / "set.part" / "stale.bin").touch()

    assert _files(make()) == sorted(CONTENTS)


def test_a_place_that_cannot_be_written_is_one_sentence(make, tmp_path):
    (tmp_path / "out").touch()

    with pytest.raises(DataError, match=r"could not be unpacked to .*out/set: .* Make room there"):
        make()


@settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, len(GOOD)), st.binary(max_size=40))
def test_any_archive_gives_the_folder_or_a_data_error(make, tmp_path, position, noise):
    try:
        folder = make(GOOD[:position] + noise + GOOD[position + len(noise) :])
    except DataError:
        assert _files(tmp_path) == ["set.zip"]
    else:
        assert _files(folder) == sorted(CONTENTS)
        shutil.rmtree(folder)
