"""Measure terrafl and its peers side by side: one command, one table.

    python benchmarks/peers/run.py [--workload cnn|mlp|all] [--peers flower,pfl,fedjax,terrafl]
                                   [--rounds 3] [--repetitions 3] [--json FILE] [--smoke]

Needs Python 3.11 or newer, a package index and Fashion-MNIST; what it installs stays in .venvs/.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import fashion_mnist
import table
from conditions import conditions, describe
from environments import HERE, SYSTEMS, Unavailable, prepare
from measure import Run, busy_share, run


def main():
    options = read_options()
    fashion_mnist.locate()
    missing = {}
    for name in options.peers:
        try:
            prepare(SYSTEMS[name])
        except Unavailable as error:
            missing[name] = str(error)
    load_before = os.getloadavg()[0]
    runs, benches = [], {}
    for workload in options.workloads:
        for name, reason in missing.items():
            runs.append(Run(name, workload, for_memory=True, failure=reason))
        present = [name for name in options.peers if name not in missing]
        benches[workload] = take_turns(workload, present, options, runs)
    rows = []
    for workload in options.workloads:
        rows += table.loops(workload, benches[workload])
        for name in options.peers:
            own = [r for r in runs if (r.system, r.workload) == (name, workload)]
            rows.append(table.summary(own, SYSTEMS[name].title))
    about = conditions(options, missing, load_before, runs)
    print(f"{describe(about)}\n\n{table.markdown(rows)}")
    if options.json:
        result = about | {"rows": rows, "runs": [asdict(r) for r in runs], "benches": benches}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def take_turns(workload, names, options, runs):
    """Start everyone for its memory, then in turns for speed; return the loops' speeds."""
    tried = [start(name, workload, options, for_memory=True) for name in names]
    runs += tried
    names, benches = [r.system for r in tried if not r.failure], []
    for _ in range(options.repetitions):
        runs += [start(name, workload, options) for name in names]
        if "terrafl" in names and not options.smoke:
            benches += bench(workload, options)
    return benches


def start(name, workload, options, for_memory=False):
    system, own = SYSTEMS[name], Run(name, workload, for_memory, busy_share())
    command = system.command(workload, options.rounds, options.processes, options.smoke)
    log = HERE / ".logs" / f"{name}-{workload}.log"
    done = run(own, command, system.environment(), log, options.timeout)
    if not done.failure and len(done.rounds) != options.rounds:
        done.failure = f"{options.rounds} rounds were asked for, {len(done.rounds)} reported"
    speeds = ", ".join(f"{r['samples'] / r['seconds']:,.0f} samples/s" for r in done.rounds[1:])
    seen = f"{done.peak_pss_mb:,.0f} MB" if for_memory else speeds
    print(f"{workload} {name}: {done.failure or seen}", file=sys.stderr)
    return done


def bench(workload, options):
    """Measure the loops without federation; return nothing where that fails."""
    command = [SYSTEMS["terrafl"].python.parent / "terrafl", "bench", "engine", "--json"]
    command += ["--workload", workload, "--workers", options.processes]
    command += ["--repetitions", options.rounds - 1]
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"terrafl bench engine failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return []
    return json.loads(done.stdout)["workloads"]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--workload", choices=["cnn", "mlp", "all"], default="all")
    parser.add_argument("--peers", default="terrafl,flower,pfl,fedjax", help="which, in order")
    parser.add_argument("--rounds", type=int, default=3, help="of each start; 1 is a warm-up")
    parser.add_argument("--repetitions", type=int, default=3, help="starts of each system")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one start")
    parser.add_argument("--json", type=Path, help="write everything measured here")
    parser.add_argument("--smoke", action="store_true", help="3 clients a round, 1 epoch")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    unknown = set(options.peers) - set(SYSTEMS)
    if unknown:
        parser.error(f"peers must be among {', '.join(SYSTEMS)}; got {', '.join(unknown)}")
    if options.rounds < 2 or options.repetitions < 1:
        parser.error("rounds must be 2 or more, repetitions 1 or more")
    options.workloads = ["cnn", "mlp"] if options.workload == "all" else [options.workload]
    return options


if __name__ == "__main__":
    main()
