from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from terrafl.data import available, check, describe, fetch, load
from terrafl.data.catalog import CATALOG
from terrafl.errors import ConfigurationError, DataError

IMAGES = "train-images-idx3-ubyte.gz"


def test_the_data_sets_are_listed_with_what_they_hold():
    rows = {row.name: row for row in describe()}

    assert tuple(rows) == available()
    assert set(rows) == {
        "digits",
        "fmnist",
        "cifar10",
        "cifar100",
        "tiny-imagenet",
        "femnist",
        "unipen62",
        "har",
    }
    assert (rows["digits"].num_train, rows["digits"].num_test) == (1437, 360)
    assert rows["digits"].present


def test_a_data_set_is_present_when_all_its_files_are(tmp_path):
    (tmp_path / IMAGES).write_bytes(b"one of four")

    rows = {row.name: row for row in describe(tmp_path)}

    assert not rows["fmnist"].present


@pytest.mark.parametrize("use", [check, fetch, lambda name: load(name, generator=None)])
def test_an_unknown_name_gets_a_suggestion(use):
    known = ", ".join(available())

    with pytest.raises(ConfigurationError) as raised:
        use("fminst")

    message = f"dataset must be one of {known}; got 'fminst': did you mean 'fmnist'?"
    assert str(raised.value) == message


def test_a_missing_file_is_named_with_the_places_and_the_remedy(tmp_path):
    with pytest.raises(DataError) as raised:
        load("fmnist", generator=np.random.default_rng(0), root=tmp_path)

    message = str(raised.value)
    for part in (
        IMAGES,
        str(tmp_path / "fashion-mnist"),
        f"`terrafl data fetch fmnist --root {tmp_path}`",
        "apt install dataset-fashion-mnist",
    ):
        assert part in message


@pytest.mark.parametrize("variable", ["TERRAFL_DATA", "XDG_CACHE_HOME"])
def test_without_a_root_the_remedy_names_the_folder_in_use(tmp_path, monkeypatch, variable):
    monkeypatch.delenv("TERRAFL_DATA", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    folder = tmp_path / ("terrafl" if variable == "XDG_CACHE_HOME" else "")

    (characters,), (drawn,) = check("femnist"), check("unipen62")

    assert characters.problem.endswith(
        "Run `terrafl data fetch femnist`, or put the train and test folders that LEAF's script "
        f"writes in {folder / 'femnist'}."
    )
    assert drawn.problem.endswith(f"put the file at {folder / 'unipen62' / 'unipen62.npz'}.")


def test_a_root_with_a_space_makes_a_command_that_can_be_pasted(tmp_path):
    (missing,) = check("har", tmp_path / "my data")

    assert missing.problem.endswith(
        f"Run `terrafl data fetch har --root '{tmp_path / 'my data'}'`."
    )


def test_a_damaged_file_is_named_with_the_remedy(tmp_path):
    path = tmp_path / "fmnist" / IMAGES
    path.parent.mkdir()
    path.write_bytes(b"not gzip")

    with pytest.raises(DataError) as raised:
        load("fmnist", generator=np.random.default_rng(0), root=tmp_path)

    assert str(path) in str(raised.value)
    assert str(raised.value).endswith("`apt install dataset-fashion-mnist`.")


def test_a_check_tells_missing_damaged_and_sound_files_apart(tmp_path):
    (tmp_path / IMAGES).write_bytes(b"not gzip")

    damaged, missing, *_ = check("fmnist", tmp_path)
    (sound,) = check("digits", tmp_path)

    assert (damaged.path, damaged.size, damaged.ok) == (tmp_path / IMAGES, 8, False)
    assert "must be a whole gzip file" in damaged.problem
    assert (missing.path, missing.size, missing.ok) == (None, None, False)
    assert "which is missing" in missing.problem
    assert (sound.ok, sound.problem) == (True, "")


def test_fetching_what_comes_with_a_package_is_finding_it():
    (path,) = fetch("digits")

    assert path.name == "digits.csv.gz"
    assert path.is_file()


def test_what_cannot_be_fetched_is_named_with_its_origin_and_where_to_put_it(tmp_path):
    with pytest.raises(DataError) as raised:
        fetch("unipen62", tmp_path)

    assert "Unipen Consortium, doi:10.5281/zenodo.1195803" in str(raised.value)
    assert f"put the file at {tmp_path / 'unipen62' / 'unipen62.npz'}." in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_importing_and_loading_digits_imports_no_heavy_library():
    program = (
        "import sys, numpy, terrafl.data as data\n"
        "data.load('digits', generator=numpy.random.default_rng(0))\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'pydantic', 'ssl', 'urllib.request', 'PIL'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("entry", [e for e in CATALOG.values() if e.base_url], ids=lambda e: e.name)
def test_what_is_fetched_comes_over_https_and_has_a_checksum(entry):
    assert entry.base_url.startswith("https://")
    fetched = [entry.original] if entry.original else [*entry.files, entry.archive]
    for file in filter(None, fetched):
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
