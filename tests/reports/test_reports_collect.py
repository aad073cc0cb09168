import shutil

import pytest

from terrafl.errors import RunFolderError
from terrafl.reports.collect import find_runs


def test_runs_are_found_at_any_depth_in_order(tmp_path, a_summary, write_run):
    write_run(tmp_path / "b", a_summary(seed=1))
    write_run(tmp_path / "a" / "deep" / "er", a_summary(seed=2))

    found, _ = find_runs([tmp_path])

    assert [(run.name, run.summary.seed) for run in found] == [("a/deep/er", 2), ("b", 1)]


def test_a_run_folder_itself_is_found_and_named(tmp_path, a_summary, write_run):
    folder = write_run(tmp_path / "mine", a_summary())

    assert [run.name for run in find_runs([folder])[0]] == ["mine"]


def test_a_run_reached_by_two_paths_counts_once(tmp_path, a_summary, write_run):
    folder = write_run(tmp_path / "all" / "one", a_summary())

    assert len(find_runs([tmp_path, folder, tmp_path / "all" / ".." / "all"])[0]) == 1


def test_names_do_not_depend_on_where_the_folder_lies(tmp_path, runs):
    shutil.copytree(runs, tmp_path / "else" / "where")

    assert find_runs([runs]) == find_runs([tmp_path / "else" / "where"])


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(RunFolderError, match=r"nowhere must be a run folder .* does not exist"):
        find_runs([tmp_path / "nowhere"])


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(RunFolderError, match=r"file must be a run folder .* it is a file"):
        find_runs([tmp_path / "file"])


def test_a_folder_without_a_run_is_an_error_even_beside_one_with_runs(tmp_path, runs):
    (tmp_path / "empty").mkdir()

    with pytest.raises(RunFolderError, match=r"empty holds no finished run.*terrafl run"):
        find_runs([runs, tmp_path / "empty"])


def test_a_folder_with_an_unfinished_run_says_how_to_finish_it(tmp_path):
    (tmp_path / "all" / "half").mkdir(parents=True)
    (tmp_path / "all" / "half" / "config.toml").write_text("")

    with pytest.raises(RunFolderError, match=r"terrafl resume .*half\.$"):
        find_runs([tmp_path / "all"])


def test_a_damaged_summary_is_named(tmp_path, runs):
    (runs / "oort" / "seed-1" / "summary.json").write_text("{}")

    found, ((name, reason),) = find_runs([runs])

    assert len(found) == 8
    assert name == "oort/seed-1"
    assert reason.startswith("summary.json must be the summary of a terrafl run")


def test_a_damaged_summary_alone_is_an_error(runs):
    folder = runs / "oort" / "seed-1"
    (folder / "summary.json").write_text("{}")

    with pytest.raises(RunFolderError, match=r"oort/seed-1/summary.json must be the summary"):
        find_runs([folder])


def test_no_folders_are_no_comparison():
    with pytest.raises(RunFolderError, match="at least one run folder"):
        find_runs([])
