"""What may be compared, repeated and told apart."""

import logging
import subprocess
import sys

import numpy as np
import pytest

import terrafl
from terrafl.errors import ConfigurationError
from terrafl.experiments.api import cells, configure
from terrafl.experiments.run import execute, resume
from terrafl.reports import compare_runs, to_markdown
from terrafl.runs import read_lines

SMALL = {"clients": 12, "clients_per_round": 5, "rounds": 1, "workers": 1}


def test_runs_of_different_settings_are_never_averaged(tmp_path):
    terrafl.run(selector="random", seed=0, out=tmp_path / "a", **SMALL)
    terrafl.run(selector="random", seed=1, training={"epochs": 1}, out=tmp_path / "b", **SMALL)

    comparison = compare_runs([tmp_path])

    assert [len(group.methods[0].seeds) for group in comparison.groups] == [1, 1]


def test_a_runs_own_configuration_file_repeats_it(tmp_path):
    terrafl.run(selector="poc", seed=3, out=tmp_path / "a", **SMALL)

    terrafl.run(config=tmp_path / "a" / "config.toml", out=tmp_path / "b", workers=1)

    for name in ("model.safetensors", "journal.jsonl", "summary.json", "config.toml"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_a_comparison_takes_from_its_file_what_no_flag_names(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('algorithm = "fedprox"\nseed = 7\nselector = "random"\n')

    (cell,) = cells(tmp_path, None, None, None, config=file)

    assert cell.folder.name == "random-fedprox-s7"


def test_settings_of_an_algorithm_are_told_apart(tmp_path):
    algorithms = [terrafl.FedProx(mu=0.1), terrafl.FedProx(mu=1.0)]

    planned = cells(tmp_path, ["random"], algorithms, [0])

    names = [cell.folder.name for cell in planned]
    assert names == ["random-fedprox-s0", "random-fedprox-mu=1.0-s0"]
    assert planned[0].config.experiment != planned[1].config.experiment


def test_a_long_setting_still_names_a_folder(tmp_path):
    durations = {f"{i:02d}": 1.0 for i in range(50)}

    (cell,) = cells(tmp_path, [terrafl.Oort(durations=durations)], ["fedavg"], [0])

    assert len(cell.folder.name) < 60


def test_numpy_integers_are_integers():
    config = configure(seed=np.int64(3), rounds=np.int64(2))

    assert (config.seed, config.rounds) == (3, 2)


@pytest.mark.parametrize("workers", [0, -3, 2.5])
def test_workers_must_be_a_positive_integer(workers):
    with pytest.raises(ConfigurationError, match="workers must be an integer of at least 1"):
        terrafl.run(rounds=1, workers=workers)


def test_the_skew_of_the_federation_opens_the_journal(tmp_path):
    terrafl.run(out=tmp_path / "run", **SMALL)

    first = next(read_lines(tmp_path / "run" / "journal.jsonl"))

    assert first["event"] == "federation"
    assert first["clients"] == 12
    assert first["size_min"] >= 1
    assert 0 <= first["mean_distance"] <= 1
    for column in ("ids", "sizes", "distances", "labels"):
        assert len(first[column]) == 12
    assert sum(first["sizes"]) == first["examples"]


def test_a_run_of_another_version_is_named_when_it_is_used_again(tmp_path, caplog):
    execute(configure(clients=12, clients_per_round=5, rounds=1), tmp_path / "run")
    file = tmp_path / "run" / "config.toml"
    file.write_text(file.read_text().replace('torch = "2', 'torch = "1'))

    with caplog.at_level(logging.WARNING):
        resume(tmp_path / "run")

    assert "torch 1" in caplog.text


def test_workers_do_not_import_from_the_current_folder(tmp_path):
    (tmp_path / "random.py").write_text("raise RuntimeError('a stray file')\n")
    code = (
        "import sys; sys.path = [path for path in sys.path if path]\n"
        "import terrafl\n"
        "print(terrafl.run(rounds=1, clients=12, clients_per_round=5, workers=2).summary.rounds)"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.stdout == "1\n", done.stderr


def test_tables_keep_experiments_apart(tmp_path):
    terrafl.run(selector="random", out=tmp_path / "a", **SMALL)
    terrafl.run(selector="random", out=tmp_path / "b", **{**SMALL, "rounds": 2})

    text = to_markdown(compare_runs([tmp_path]))

    assert text.count("### digits, mlp, FedAvg") == 2


def test_a_run_that_never_began_leaves_no_folder(tmp_path):
    with pytest.raises(ConfigurationError, match="clients_per_round"):
        terrafl.run(clients=12, clients_per_round=80, rounds=1, out=tmp_path / "run", workers=1)

    assert not (tmp_path / "run").exists()
