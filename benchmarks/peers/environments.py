"""The systems compared, each with its own virtual environment."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent


class Unavailable(Exception):
    """A system cannot be run here; the message says why."""


@dataclass(frozen=True)
class System:
    """How one system is installed and started.

    ``packages`` are what its speed depends on; ``launcher`` are arguments before the script's.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    launcher: tuple[str, ...] = ()
    one_thread: bool = True

    @property
    def python(self):
        own = PROJECT / ".venv" if self.name == "terrafl" else HERE / ".venvs" / self.name
        return own / "bin/python"

    def command(self, workload, rounds, processes, smoke):
        launcher = [part.format(processes=processes) for part in self.launcher]
        options = ["--workload", workload, "--rounds", rounds, "--processes", processes]
        script = HERE / f"{self.name}_rounds.py"
        command = [self.python, *launcher, script, *options, *(["--smoke"] if smoke else [])]
        return [str(part) for part in command]

    def environment(self):
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
        env["FLWR_HOME"] = str(self.python.parent.parent / "flwr")
        if self.one_thread:
            env["OMP_NUM_THREADS"] = "1"
        return env

    def versions(self):
        """Return the installed versions of the packages that matter."""
        code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
        command = [self.python, "-c", code, *self.packages]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return dict(zip(self.packages, output.split(), strict=True))


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node={processes}")
SYSTEMS = {
    system.name: system
    for system in (
        System("terrafl", "terrafl", ("terrafl", "torch")),
        System("flower", "Flower (Ray simulation)", ("flwr", "ray", "torch")),
        System("pfl", "pfl (torch.distributed)", ("pfl", "torch"), launcher=TORCHRUN),
        System("fedjax", "FedJAX (XLA's threads)", ("fedjax", "jax"), one_thread=False),
    )
}


def prepare(system):
    """Create the environment, unless it stands as its requirements file says."""
    if system.name == "terrafl":
        if not system.python.exists():
            raise Unavailable("the project's own .venv is missing: run make test first")
        return
    requirements = HERE / f"requirements-{system.name}.txt"
    folder = system.python.parent.parent
    ready = folder / ".ready"
    if ready.is_file() and ready.read_text() == requirements.read_text():
        return
    print(f"installing {system.title} into {folder.relative_to(PROJECT)}", file=sys.stderr)
    _run([sys.executable, "-m", "venv", "--clear", folder])
    pip = [system.python, "-m", "pip", "install", "--quiet"]
    lines = requirements.read_text().splitlines()
    # Alone and first: pip then takes the CPU build where the index offers one.
    for torch in (line for line in lines if line.startswith("torch==")):
        _run([*pip, torch])
    _run([*pip, "--requirement", requirements])
    ready.write_text(requirements.read_text())


def _run(command):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = lines[-1] if lines else f"exit code {done.returncode}"
        raise Unavailable(f"could not be installed: {reason}")
