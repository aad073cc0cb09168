"""The Python interface, as its users call it."""

import gc
import json

import pytest

import terrafl
from terrafl.errors import ConfigurationError

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def compared(small, tmp_path_factory):
    return terrafl.compare(
        selectors=["random", terrafl.Terraform(eta=2)],
        algorithms=["fedavg", "fedprox"],
        seeds=[0, 1],
        out=tmp_path_factory.mktemp("compared"),
        workers=1,
        **small,
    )


def test_a_run_returns_its_result(small, tmp_path):
    result = terrafl.run(
        selector=terrafl.Terraform(eta=2), out=tmp_path / "run", workers=1, **small
    )

    assert result.accuracy == result.summary.accuracy == result.curve[-1].accuracy
    assert result.folder.path == tmp_path / "run"
    assert repr(result).startswith("Result(terraform with fedavg on digits, seed 0: accuracy ")
    assert result._repr_html_() == f"<p>{result!r}</p>"


def test_a_run_takes_names_settings_and_objects_alike(small, tmp_path):
    ways = ["oort", {"name": "oort"}, terrafl.Oort()]

    results = [terrafl.run(selector=way, workers=1, **small).summary for way in ways]

    assert results[0] == results[1] == results[2]


def test_a_run_without_a_folder_goes_with_its_result(small):
    result = terrafl.run(selector="random", workers=1, **small)
    folder = result.folder.path
    assert (folder / "summary.json").exists()

    del result
    gc.collect()

    assert not folder.exists()


def test_a_run_that_fails_leaves_no_folder_behind(small, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(ConfigurationError):
        terrafl.run(selector="random", workers=1, **small | {"clients_per_round": 13})

    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told(small):
    heard = []

    terrafl.run(workers=1, on_round=lambda *told: heard.append(told[:2]), **small)

    assert heard == [(1, 2), (2, 2)]


def test_a_file_is_a_configuration(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('rounds = 1\nselector = "random"\nmodel = "linear"\n')

    assert terrafl.run(config=path, workers=1).summary.rounds == 1


def test_an_interrupted_run_is_resumed(small, tmp_path):
    def stop(done, planned, accuracy):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        terrafl.run(out=tmp_path / "run", workers=1, on_round=stop, **small)

    assert terrafl.resume(str(tmp_path / "run")).summary.rounds == 2


def test_a_result_is_drawn(small, tmp_path):
    result = terrafl.run(selector="random", out=tmp_path / "run", workers=1, **small)

    result.plot(tmp_path / "curve.png")

    assert (tmp_path / "curve.png").read_bytes().startswith(PNG)


def test_a_comparison_is_a_tidy_table(compared):
    rows = list(compared)

    assert len(compared) == len(rows) == 4  # two selectors, two algorithms
    assert compared[0] == rows[0]
    assert {(row["selector"], row["algorithm"]) for row in rows} == {
        ("random", "fedavg"),
        ("terraform", "fedavg"),
        ("random", "fedprox"),
        ("terraform", "fedprox"),
    }
    assert all(row.keys() == rows[0].keys() for row in rows)
    values = [value for row in rows for value in row.values()]
    assert all(isinstance(value, str | int | float | None) for value in values)
    json.dumps(rows, allow_nan=False)


def test_a_comparison_is_of_the_runs_in_its_folders(compared):
    accuracies = [
        json.loads((folder / "summary.json").read_text())["accuracy"]
        for folder in compared.folders
        if folder.name.startswith("random-fedavg-")
    ]

    (row,) = (r for r in compared if (r["selector"], r["algorithm"]) == ("random", "fedavg"))

    assert row["accuracy_percent"] == pytest.approx(100 * sum(accuracies) / 2)
    assert row["num_seeds"] == 2


def test_a_comparison_is_drawn(compared, tmp_path):
    compared.plot(tmp_path / "curves.png")

    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)


def test_a_comparison_is_reported(compared, tmp_path):
    page = compared.report(tmp_path / "report")

    assert page == tmp_path / "report" / "report.html"
    assert "<html" in page.read_text()


def test_a_notebook_shows_a_comparison_as_a_table(compared):
    assert "<table" in compared._repr_html_()


def test_a_comparison_without_a_folder_goes_with_its_table(small):
    compared = terrafl.compare(selectors=["random"], seeds=[0], workers=1, **small)
    folder = compared.folders[0]
    assert (folder / "summary.json").exists()

    del compared
    gc.collect()

    assert not folder.exists()


def test_a_comparison_is_not_run_twice(compared, small):
    before = {f: (f / "summary.json").stat().st_mtime_ns for f in compared.folders}

    again = terrafl.compare(
        selectors=["random", terrafl.Terraform(eta=2)],
        algorithms=["fedavg", "fedprox"],
        seeds=[0, 1],
        out=compared.folders[0].parent,
        workers=1,
        **small,
    )

    assert before == {f: (f / "summary.json").stat().st_mtime_ns for f in again.folders}
    assert list(again) == list(compared)


def test_an_unknown_setting_is_a_mistake():
    with pytest.raises(ConfigurationError, match="has no key 'round': did you mean 'rounds'"):
        terrafl.run(settings={"round": 3})


def test_a_comparison_is_a_tidy_data_frame(compared):
    pandas = pytest.importorskip("pandas", reason="needs pandas")

    frame = pandas.DataFrame(compared)

    assert frame.to_dict("records")[0].keys() == compared[0].keys()
    assert len(frame) == len(compared) == 4
    assert frame["accuracy_percent"].dtype == float
    assert set(frame["selector"]) == {"random", "terraform"}


def test_a_comparison_introduces_itself_in_one_line(compared):
    first = compared[0]

    assert repr(compared).startswith("Compared(digits, FedAvg: Random ")
    assert f"{first['accuracy_percent']:.1f} %" in repr(compared)
    assert "/" not in repr(compared)
