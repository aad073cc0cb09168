"""What users get: built from the source, installed into an empty environment, run elsewhere."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from terrafl import __version__

pytestmark = pytest.mark.distribution

ROOT = Path(__file__).parents[1]
NETWORK_FAILURE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError"
    r"|name resolution|Network is unreachable|Connection refused|Connection reset"
)


def run(*command, **options):
    # Nothing of this environment may leak into the one under test.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, **options
    )


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the source distribution, and from it the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    built = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


def test_the_wheel_is_for_everybody(wheel):
    assert wheel.name == f"terrafl-{__version__}-py3-none-any.whl"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    source = ROOT / "src" / "terrafl"
    shipped = {p.relative_to(ROOT / "src") for p in source.rglob("*") if p.is_file()}
    wanted = {path.as_posix() for path in shipped if path.suffix != ".pyc"}
    assert wanted <= names
    assert {name.split("/")[0] for name in names} == {
        "terrafl",
        f"terrafl-{__version__}.dist-info",
    }


def test_the_source_distribution_can_be_tested(dist):
    with tarfile.open(dist / f"terrafl-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "LICENSE", "README.md", "constraints.txt", "Makefile"} <= names
    assert "tests/test_distribution.py" in names
    assert "src/terrafl/py.typed" in names
    assert {name.split("/")[0] for name in names if "/" in name} == {"examples", "src", "tests"}


@pytest.fixture(scope="module")
def modules(wheel):
    """Return the parsed modules of the wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
        return {name: ast.parse(archive.read(name)) for name in names}


def imports(tree):
    """Yield what a module imports, as module and names, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]


def calls(tree):
    """Yield what a module calls, and with which keywords."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            yield ast.unparse(node.func), given


# Each of these runs code that a file or a message brings along.
UNPICKLERS = {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "yaml"}
UNPICKLERS |= {"multiprocessing", "concurrent", "torch.multiprocessing", "torch.hub", "torch.jit"}
HARMLESS = ["UnpicklingError"]  # to say what is wrong with somebody else's file


def test_nothing_in_the_wheel_is_pickled(modules):
    assert len(modules) > 100
    for module, tree in modules.items():
        for imported, names in imports(tree):
            parts = imported.split(".")
            found = {imported, parts[0], ".".join(parts[:2])} & UNPICKLERS
            assert not found or names == HARMLESS, module


def test_nothing_in_the_wheel_loads_more_than_arrays(modules):
    for module, tree in modules.items():
        for called, given in calls(tree):
            assert given.get("allow_pickle", "False") == "False", module
            assert called not in ("torch.save", "eval", "exec", "compile", "__import__"), module
            if called.startswith("torch.") and called.endswith("load"):  # published weights
                assert (called, given.get("weights_only")) == ("torch.load", "True"), module


# What fetches; the one module that may use it goes to https alone, see its tests.
FETCHERS = {"urllib.request", "http.client", "requests", "httpx", "ftplib"}
CONNECTED = {"terrafl/data/download.py"}


def test_one_module_of_the_wheel_fetches_files(modules):
    connected = {
        module
        for module, tree in modules.items()
        for imported, _ in imports(tree)
        if imported in FETCHERS
    }

    assert connected == CONNECTED


@pytest.fixture
def environment(wheel, tmp_path):
    """Install the wheel into an environment with nothing else in it."""
    made = run(sys.executable, "-m", "venv", tmp_path / "venv")
    assert made.returncode == 0, made.stdout + made.stderr
    pip = [tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    installed = run(*pip, "--constraint", ROOT / "constraints.txt", wheel)
    if installed.returncode and NETWORK_FAILURE.search(installed.stderr):
        pytest.skip(f"the package index cannot be reached: {installed.stderr.splitlines()[-1]}")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    yield tmp_path / "venv" / "bin"
    shutil.rmtree(tmp_path / "venv")  # torch alone is the better part of a gigabyte


def test_the_demo_runs_in_an_empty_environment(environment, tmp_path):
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "demo"
    elsewhere.mkdir()

    demo = run(
        environment / "terrafl", "demo", "--rounds=2", "--seeds=0", "--out", out, cwd=elsewhere
    )

    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert (out / "report.html").stat().st_size > 1000
    pictures = list(out.glob("*.png"))
    assert pictures
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert list(elsewhere.iterdir()) == []
