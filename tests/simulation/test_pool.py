import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from executing import train

from terrafl.errors import TerraflError, UserError
from terrafl.experiments.assemble import federate, job_of
from terrafl.experiments.config import resolve
from terrafl.experiments.run import execute, resume
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import TrainTask, arrays_of
from terrafl.simulation.pool import Pool

FILES = ("model.safetensors", "journal.jsonl", "summary.json")
SMALL = {"partition": {"clients": 12}, "clients_per_round": 8, "rounds": 3}


def a_config(model, **changes):
    return resolve({**SMALL, "model": model, "selector": "terraform", **changes})


def contents(folder):
    return {name: (Path(folder) / name).read_bytes() for name in FILES}


@pytest.mark.parametrize(
    ("model", "algorithm", "worker_counts"),
    [
        ("mlp", "fedavg", [2]),
        ("mlp", "fedprox", [4]),
        ("femnist-cnn", "fedavg", [4]),
        ("femnist-cnn", "fedprox", [2]),
    ],
)
def test_the_number_of_workers_does_not_reach_the_result(tmp_path, model, algorithm, worker_counts):
    short = {"training": {"epochs": 1, "batch_size": 64}, "rounds": 2, "clients_per_round": 5}
    config = a_config(model, algorithm=algorithm, **(short if model != "mlp" else {}))

    for workers in (1, *worker_counts):
        execute(config, tmp_path / str(workers), workers=workers)

    alone = contents(tmp_path / "1")
    assert all(contents(tmp_path / str(workers)) == alone for workers in worker_counts)


def test_losses_asked_of_workers_are_those_of_one_process(tmp_path):
    config = a_config("mlp", selector="poc")

    for workers in (1, 2):
        execute(config, tmp_path / str(workers), workers=workers)

    assert contents(tmp_path / "2") == contents(tmp_path / "1")


@pytest.fixture
def crew():
    """Make workers of several kinds for one federation."""
    config = a_config("mlp", training={"epochs": 30})
    data = federate(config)
    job, arrays = job_of(config, data), arrays_of(data)
    with ExitStack() as stack:

        def make(num_workers):
            if num_workers == 0:
                return stack.enter_context(InProcess(job, arrays))
            pool = stack.enter_context(Pool(num_workers))
            return pool.open(job, arrays, most_clients=12)

        yield make


TASKS = [TrainTask(i, f"{i:02d}", 0, 0, 0.1) for i in range(12)]


def test_a_pool_of_one_gives_the_bytes_of_this_process(crew):
    alone, pool = crew(0), crew(1)

    expected = [t.vector.tobytes() for t in train(alone, TASKS)]

    assert pool.initial_model.tobytes() == alone.initial_model.tobytes()
    assert [t.vector.tobytes() for t in train(pool, TASKS)] == expected


def test_a_worker_killed_at_work_is_replaced_and_its_clients_trained_again(crew, caplog):
    alone, pool = crew(0), crew(2)
    expected = [t.vector.tobytes() for t in train(alone, TASKS)]
    victims = pool.pids
    killer = threading.Timer(0.05, lambda: [os.kill(pid, signal.SIGKILL) for pid in victims])

    killer.start()
    got = [t.vector.tobytes() for t in train(pool, TASKS)]
    killer.join()
    again = [t.vector.tobytes() for t in train(pool, TASKS)]

    assert got == expected
    assert again == expected
    assert not set(victims) & set(pool.pids)
    assert "SIGKILL" in caplog.text


def test_a_cohort_larger_than_expected_is_trained_all_the_same(crew):
    alone, pool = crew(0), crew(1)
    many = [*TASKS, *(TrainTask(i, f"{i:02d}", 1, 0, 0.1) for i in range(12))]

    expected = [t.vector.tobytes() for t in train(alone, many)]

    assert [t.vector.tobytes() for t in train(pool, many)] == expected


def test_a_worker_killed_while_idle_is_replaced(crew):
    alone, pool = crew(0), crew(1)
    expected, _ = alone.evaluate(alone.initial_model)

    os.kill(pool.pids[0], signal.SIGKILL)
    correct, _ = pool.evaluate(pool.initial_model)

    assert np.array_equal(correct, expected)


def test_an_impossible_job_is_the_users_mistake_wherever_it_is_found(tmp_path):
    config = a_config("mlp", device="cuda:7")

    for workers in (1, 2):
        with pytest.raises(UserError, match="device"):
            execute(config, tmp_path / str(workers), workers=workers)
        assert not (tmp_path / str(workers) / "config.toml").exists()


def test_what_a_network_raises_reaches_the_user(tmp_path):
    # The network wants images of one channel at least; the head of this one has no bias.
    module = tmp_path / "broken_network.py"
    module.write_text(
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "from torch import nn\n"
        "class Raises(nn.Sequential):\n"
        "    def forward(self, x):\n"
        "        raise RuntimeError('the network is broken')\n"
        "@dataclass(frozen=True)\n"
        "class Broken:\n"
        "    name: ClassVar[str] = 'broken'\n"
        "    final_layer: ClassVar[str] = '1'\n"
        "    def build(self, input_shape, num_classes):\n"
        "        return Raises(nn.Flatten(), nn.Linear(64, num_classes))\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        config = a_config("broken_network:Broken")
        with pytest.raises(TerraflError, match="the network is broken"):
            execute(config, tmp_path / "run", workers=2)
    finally:
        sys.path.remove(str(tmp_path))


def test_ctrl_c_ends_cleanly_and_the_run_goes_on(tmp_path):
    command = [sys.executable, "-c", "from terrafl.cli.main import main; main()", "run"]
    flags = ["--rounds", "100000", "--clients", "12", "--clients-per-round", "8", "--seed", "5"]
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*command, *flags, "--workers", "2", "--out", str(folder)],
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background may have made us ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not (folder / "checkpoints").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert len(children) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    done = (folder / "journal.jsonl").read_text().count('"evaluation"')
    text = (folder / "config.toml").read_text().replace("rounds = 100000", f"rounds = {done + 2}")
    (folder / "config.toml").write_text(text)
    resumed = resume(folder, allow_drift=True)
    assert resumed.summary.rounds == done + 2


def test_workers_die_with_their_parent(tmp_path):
    code = (
        "import os, signal\n"
        "from terrafl.simulation.pool import Pool\n"
        "pool = Pool(2)\n"
        "print(*pool.pids, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pids = done.stdout.split()

    assert done.returncode == -signal.SIGKILL
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
