"""Arrays made once and mapped afterwards."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from terrafl.data.cache import ArrayWriter, cache_place, cached_arrays
from terrafl.errors import DataError


@pytest.fixture
def place(tmp_path):
    return tmp_path / ".cache" / "set-0123"


@pytest.fixture
def maker():
    """Make one array, and count how often."""

    class Maker:
        calls = 0

        def __call__(self, folder):
            self.calls += 1
            with ArrayWriter(folder / "x.npy", "|u1", (2,)) as out:
                out.append(np.array([[1, 2]], dtype=np.uint8))
                out.append(np.array([[3, 4], [5, 6], [7, 8]], dtype=np.uint8))
            return {"y": np.arange(4)}

    return Maker()


def test_arrays_are_made_once(place, maker):
    first = cached_arrays(place, maker)
    second = cached_arrays(place, maker)

    assert maker.calls == 1
    for arrays in (first, second):
        assert arrays["x"].tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
        assert arrays["y"].tolist() == [0, 1, 2, 3]


def test_a_reader_may_write_to_its_own_pages_only(place, maker):
    cached_arrays(place, maker)["x"][0] = 99

    assert cached_arrays(place, maker)["x"][0].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["x.npy", "sha256.json"])
@pytest.mark.parametrize("content", [None, b"", b"damaged", b'["x.npy"]', b'{"../x.npy": ""}'])
def test_what_is_damaged_or_lost_is_made_again(place, maker, name, content):
    cached_arrays(place, maker)
    if content is None:
        (place / name).unlink()
    else:
        (place / name).write_bytes(content)

    arrays = cached_arrays(place, maker)

    assert maker.calls == 2
    assert arrays["x"].shape == (4, 2)


def test_a_failure_leaves_nothing_that_could_be_mistaken_for_arrays(place, maker):
    def fail(folder):
        maker(folder)
        raise DataError("a file is wrong.")

    with pytest.raises(DataError, match="a file is wrong"):
        cached_arrays(place, fail)

    assert [path.name for path in place.parent.iterdir()] == ["set-0123.lock"]
    assert cached_arrays(place, maker)["y"].tolist() == [0, 1, 2, 3]


def test_what_a_killed_process_left_makes_way(place, maker):
    part = place.with_name("set-0123.part")
    part.mkdir(parents=True)
    (part / "x.npy").write_bytes(b"half")

    arrays = cached_arrays(place, maker)

    assert arrays["x"].shape == (4, 2)
    assert not part.exists()


def test_a_place_that_cannot_be_made_is_one_sentence(tmp_path, maker):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(DataError, match="must be writable and have room"):
        cached_arrays(tmp_path / "file" / "set", maker)


def test_processes_that_want_the_same_arrays_make_them_once(place, tmp_path):
    program = (
        "import pathlib, sys, time, numpy as np\n"
        "from terrafl.data.cache import cached_arrays\n"
        "def make(folder):\n"
        "    with open(sys.argv[2], 'a') as log: log.write('made\\n')\n"
        "    time.sleep(0.5)\n"
        "    return {'x': np.arange(3)}\n"
        "assert cached_arrays(pathlib.Path(sys.argv[1]), make)['x'].tolist() == [0, 1, 2]\n"
    )
    command = [sys.executable, "-c", program, str(place), str(tmp_path / "log")]

    running = [subprocess.Popen(command) for _ in range(2)]

    assert [process.wait(60) for process in running] == [0, 0]
    assert (tmp_path / "log").read_text() == "made\n"


def test_the_cache_lies_beside_the_data(tmp_path):
    (tmp_path / "tree").mkdir()

    assert cache_place(tmp_path / "tree", "key") == tmp_path / ".cache" / "key"


def test_data_that_cannot_be_written_beside_uses_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    (tmp_path / "tree").mkdir()

    place = cache_place(tmp_path / "tree", "key")

    assert place == tmp_path / "cache" / "terrafl" / ".cache" / "key"


@pytest.mark.parametrize("number", [0, 1, 9, 12345])
def test_a_file_written_in_pieces_is_the_one_that_numpy_writes(tmp_path, number):
    rows = np.arange(3 * number, dtype=np.int16).reshape(number, 3)

    with ArrayWriter(tmp_path / "x.npy", "<i2", (3,)) as out:
        for start in range(0, number, 1000):
            out.append(rows[start : start + 1000])

    np.save(tmp_path / "y.npy", rows)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
