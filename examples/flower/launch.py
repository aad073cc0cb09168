"""Run the digits app: in Flower's simulation, or on real processes with TLS and node keys.

    python launch.py simulation --out run
    python launch.py deployment --out run --nodes 6

All processes run on this machine and are stopped at the end. Then ``terrafl report run`` reads the
run folder.
"""

import argparse
import tempfile
from pathlib import Path

from processes import Processes, wait_until

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", choices=["simulation", "deployment"])
    parser.add_argument(
        "--out", required=True, help="run folder; an unfinished run in it is resumed"
    )
    parser.add_argument("--nodes", type=int, help="clients (20 in simulation, 6 in deployment)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--selector", default="terraform")
    parser.add_argument("--strategy", default="FedAvg", help="a class of flwr.serverapp.strategy")
    chosen = parser.parse_args()
    chosen.nodes = chosen.nodes or (20 if chosen.where == "simulation" else 6)
    with tempfile.TemporaryDirectory() as folder, Processes(folder) as processes:
        (simulate if chosen.where == "simulation" else deploy)(processes, chosen)


def simulate(processes, chosen):
    processes.superlink(simulation=True)
    run(
        processes,
        chosen,
        "--federation-config",
        f"num-supernodes={chosen.nodes} client-resources-num-cpus=1",
    )


def deploy(processes, chosen):
    processes.superlink()
    names = [f"node{number}" for number in range(chosen.nodes)]
    for number, name in enumerate(names):
        processes.register(name)
        processes.node(name, f"partition-id={number} num-partitions={chosen.nodes}")
    wait_until(lambda: processes.online() >= set(names), 120, "the nodes' start")
    print(f"{chosen.nodes} nodes are online", flush=True)
    run(processes, chosen, identity="public-key")


def run(processes, chosen, *options, identity="node-config"):
    settings = {
        "selector": chosen.selector,
        "strategy": chosen.strategy,
        "num-rounds": chosen.rounds,
        "clients-per-round": min(10, chosen.nodes),
        "identity": identity,
        "out": str(Path(chosen.out).resolve()),
    }
    text = " ".join(f"{key}={value!r}" for key, value in settings.items())
    processes.flwr("run", HERE, "here", "--stream", "-c", text, *options, seconds=3600, show=True)


if __name__ == "__main__":
    main()
