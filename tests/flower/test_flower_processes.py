"""Flower as it really runs: SuperLink and SuperNodes as processes, TLS, keys, and failures."""

import hashlib
import json
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from flower_here import cohorts, events

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_public_key,
)
from safetensors.numpy import load_file

ROOT = Path(__file__).parents[2]
APP = Path(__file__).parent / "faulty_app"
sys.path.insert(0, str(ROOT / "examples" / "flower"))

from processes import Processes, wait_until  # noqa: E402

NODES = 8
FAULTS = {4: "nan", 5: "size", 6: "hang", 7: "hang"}
DEADLINE_S = 60
SLOW_S = 400  # of a busy machine with two cores


def start_run(processes, out, *options, name="run", **settings):
    """Start the app; the client ``flwr`` stays until the run has ended."""
    text = " ".join(
        f"{k.replace('_', '-')}={v!r}" for k, v in {**settings, "out": str(out)}.items()
    )
    return processes.start(name, "flwr", "run", APP, "here", "--stream", "-c", text, *options)


def finish(process, seconds=SLOW_S):
    assert process.wait(timeout=seconds) == 0


def happened(out, kind, **values):
    """Whether the journal, which may not be there yet, holds such an event."""
    if not (out / "journal.jsonl").exists():
        return False
    return any(
        event["event"] == kind and values.items() <= event.items()
        for event in map(json.loads, complete_lines(out / "journal.jsonl"))
    )


def complete_lines(path):
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def client_of(processes, name):
    """Return the name that a node's public key gives its client."""
    key = load_ssh_public_key((processes.folder / f"{name}.pub").read_bytes())
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return f"key-{hashlib.sha256(pem).hexdigest()[:16]}"


def test_in_flower_s_simulation_the_rounds_are_run_and_told(tmp_path):
    out = tmp_path / "out"
    with Processes(tmp_path / "flower") as processes:
        processes.superlink(simulation=True)
        nodes = "num-supernodes=8 client-resources-num-cpus=1"
        finish(start_run(processes, out, "--federation-config", nodes, num_rounds=2, wait=300.0))

    assert {(r, i) for r, i, _ in cohorts(out)} >= {(0, 0), (0, 1), (1, 0)}
    assert all(len(clients) == 5 for _, i, clients in cohorts(out) if i == 0)
    assert not events(out, "refused")
    assert [e["round"] for e in events(out, "evaluation")] == [0, 1]
    assert (out / "summary.json").exists()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """Start a SuperLink with TLS and nodes with keys: four honest, two lying, two that hang."""
    folder = tmp_path_factory.mktemp("deployment")
    with Processes(folder) as processes:
        processes.superlink()
        for number in range(NODES):
            processes.register(f"node{number}")
        for number in range(NODES):
            fault = FAULTS.get(number, "")
            settings = f'partition-id={number} fault="{fault}" scratch="{folder}"'
            processes.node(f"node{number}", settings)
        names = {f"node{number}" for number in range(NODES)}
        wait_until(lambda: processes.online() >= names, SLOW_S, "the nodes' start")
        yield processes
    assert not processes.running


def test_a_node_whose_key_nobody_registered_is_refused(deployment):
    from keys import make_node_key

    make_node_key(deployment.folder / "stranger")
    stranger = deployment.node("stranger", "partition-id=99")

    assert stranger.wait(timeout=SLOW_S) != 0
    assert len(deployment.online()) == NODES


def test_the_run_survives_nodes_that_die_hang_and_lie_and_a_dead_server(deployment):
    out, folder = deployment.folder / "out", deployment.folder
    lies, dies, hangs = (
        [client_of(deployment, f"node{n}") for n in k] for k in ((4, 5), (6,), (7,))
    )
    settings = {
        "num_rounds": 4,
        "clients_per_round": NODES,
        "timeout": DEADLINE_S,
        "wait": 30.0,
        "identity": "public-key",
    }
    first = start_run(deployment, out, **settings)

    # One node is killed in the middle of its training, and another never ends it.
    for number in (6, 7):
        wait_until((folder / f"hanging-{number}").exists, SLOW_S, f"training on node {number}")
    deployment.end("node6", signal.SIGKILL)
    wait_until(lambda: happened(out, "refused", client=dies[0]), SLOW_S, "the first deadline")

    # Then the server's side is killed as well, in the middle of a round.
    wait_until(lambda: happened(out, "cohort", round=1, iteration=1), SLOW_S, "the second round")
    deployment.end("superlink", signal.SIGKILL)
    deployment.end("run", signal.SIGKILL)
    assert first.poll() is not None
    before = complete_lines(out / "journal.jsonl")
    assert not (out / "summary.json").exists()

    # The nodes find the new SuperLink by themselves; the hanging one is let go.
    (folder / "released-7").touch()
    deployment.superlink()
    honest = {f"node{n}" for n in range(NODES) if n not in (6, 7)}
    wait_until(lambda: deployment.online() >= honest, SLOW_S, "the nodes' return")
    finish(start_run(deployment, out, name="again", **settings), 2 * SLOW_S)

    after = complete_lines(out / "journal.jsonl")
    kept = next(i for i, line in enumerate(before) if '"round":1,"iteration":0' in line)
    assert after[:kept] == before[:kept]
    assert [e["round"] for e in events(out, "evaluation")] == [0, 1, 2, 3]
    model = load_file(out / "model.safetensors")
    assert all(np.isfinite(array).all() for array in model.values())

    refused = {(e["round"], e["client"]): e["reason"] for e in events(out, "refused")}
    for number in range(4):
        assert refused[number, lies[0]] == "array head.bias must be finite, and is not"
        assert refused[number, lies[1]].endswith("got 1000000000000")
    late = f"no reply within {DEADLINE_S} s"
    assert refused[0, hangs[0]] == late
    assert refused[0, dies[0]] == late or "Node Unavailable" in refused[0, dies[0]]
    liars = set(lies) | set(dies)
    assert all(not liars & set(c) for _, i, c in cohorts(out) if i > 0)
    steps = len(cohorts(out))
    assert steps > 4  # some round had a second iteration
