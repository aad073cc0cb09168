"""Start, watch and stop a SuperLink and SuperNodes as real processes."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from keys import make_certificates, make_node_key

PROGRAMS = Path(sys.executable).parent


def wait_until(condition, seconds, what):
    """Wait until the condition returns a true value and return it; raise after the time limit."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.2)
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def descendants(pid):
    """Return the ids of a process and of all its descendants that still run."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found


class Processes:
    """Running processes. As a context manager, it stops all of them at the end of the block.

    One folder holds everything: keys, certificates, Flower's files and one log per process.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.running = {}
        self.names = {}  # of registered nodes, by the id that Flower gave them
        self.address = f"127.0.0.1:{free_port()}"
        self.environment = os.environ | {
            "FLWR_HOME": str(self.folder / "flwr"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        }

    def __enter__(self):
        (self.folder / "flwr").mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *exception):
        for name in list(self.running):
            self.end(name)

    def start(self, name, program, *arguments):
        """Start a program of Flower; its output goes to ``name.log``."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [PROGRAMS / program, *map(str, arguments)],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.running[name]

    def end(self, name, how=signal.SIGTERM):
        """Stop a program and its descendants; kill those that do not stop in time."""
        process = self.running.pop(name)
        family = descendants(process.pid)
        for pid in family:
            _signal(pid, how)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            _signal(process.pid, signal.SIGKILL)
            process.wait()
        for pid in family[1:]:
            if Path(f"/proc/{pid}").exists():
                _signal(pid, signal.SIGKILL)

    def flwr(self, *arguments, seconds=120, show=False):
        """Run the command ``flwr``; return its output, or show it while it runs."""
        done = subprocess.run(
            [PROGRAMS / "flwr", *map(str, arguments)],
            env=self.environment,
            cwd=self.folder,
            capture_output=not show,
            text=True,
            timeout=seconds,
        )
        if done.returncode:
            raise RuntimeError(f"flwr {arguments[0]} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def superlink(self, *, simulation=False):
        """Start or restart the SuperLink; return when it answers."""
        options = ["--disable-runtime-dependency-installation", "--database", "state.db"]
        where = [f'address = "{self.address}"']
        if simulation:
            options += ["--insecure", "--simulation"]
            where.append("insecure = true")
        else:
            if not (self.folder / "ca.crt").exists():
                make_certificates(self.folder)
            options += ["--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.pem"]
            options += ["--ssl-keyfile", "server.key", "--enable-supernode-auth"]
            where.append(f'root-certificates = "{self.folder / "ca.crt"}"')
        settings = ["[superlink]", 'default = "here"', "[superlink.here]", *where]
        (self.folder / "flwr" / "config.toml").write_text("\n".join(settings) + "\n")
        host, port = self.address.split(":")
        started = self.start(
            "superlink", "flower-superlink", "--host", host, "--port", port, *options
        )
        wait_until(lambda: self._is_up(started, simulation), 90, "the SuperLink's start")

    def _is_up(self, process, insecure):
        if process.poll() is not None:
            log = (self.folder / "superlink.log").read_text()
            raise RuntimeError(f"the SuperLink has stopped: {log}")
        trust = None if insecure else ssl.create_default_context(cafile=self.folder / "ca.crt")
        url = f"{'http' if insecure else 'https'}://{self.address}/health"
        try:
            with urllib.request.urlopen(url, timeout=5, context=trust) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def register(self, name):
        """Make a node's key pair and register its public key with the SuperLink."""
        make_node_key(self.folder / name)
        said = self.flwr("supernode", "register", f"{name}.pub", "here", "--format", "json")
        self.names[str(json.loads(said)["node-id"])] = name

    def node(self, name, settings):
        """Start a SuperNode that proves its identity with its key."""
        return self.start(
            name,
            "flower-supernode",
            *("--superlink", self.address, "--root-certificates", "ca.crt"),
            *("--auth-supernode-private-key", name, "--port", free_port()),
            *("--node-config", settings),
        )

    def online(self):
        """Return the names of the nodes that are connected."""
        listed = json.loads(self.flwr("supernode", "list", "here", "--format", "json"))
        connected = [node for node in listed["nodes"] if node["status"] == "online"]
        return {self.names[str(node["node-id"])] for node in connected}


def _signal(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
