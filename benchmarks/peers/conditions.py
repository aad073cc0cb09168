"""Under what conditions a table was measured."""

import datetime
import os
import platform
import re
import statistics
from pathlib import Path

from environments import SYSTEMS

QUIET = 0.05  # share of the machine that others may use


def conditions(options, missing, load_before, runs):
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    before = [r.busy_before for r in runs if not r.for_memory]
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "processes": options.processes,
        "python": platform.python_version(),
        "versions": {n: SYSTEMS[n].versions() for n in options.peers if n not in missing},
        "rounds": options.rounds,
        "repetitions": options.repetitions,
        "smoke": options.smoke,
        "load_before": load_before,
        "busy_before_median": statistics.median(before or [0.0]),
        "busy_before_most": max(before, default=0.0),
    }


def describe(about):
    versions = {"Python": about["python"]}
    for found in about["versions"].values():
        versions |= found
    quiet = about["busy_before_most"] <= QUIET and not about["smoke"]
    return (
        f"{about['date']}; {about['cpu']}, {about['cores']} cores, {about['processes']} processes; "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}; "
        f"{about['repetitions']} starts of {about['rounds']} rounds each, the first not counted. "
        f"Others used {about['busy_before_median']:.0%} of the machine before a start (most: "
        f"{about['busy_before_most']:.0%}; load at the beginning {about['load_before']:.2f})."
        + ("" if quiet else " **Not a measurement to quote: a smoke run, or a busy machine.**")
    )
