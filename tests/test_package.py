"""The package as a whole: what importing it costs, what it promises, how it is written."""

import ast
import gzip
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import terrafl

SOURCE = Path(terrafl.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = {"torch", "scipy", "matplotlib", "pydantic", "sklearn", "typer", "rich", "jinja2", "flwr"}

every_module = pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(SOURCE))
)


def loaded_by(statement):
    """Return the top-level modules that a statement loads in a fresh interpreter."""
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    path = f"import sys; sys.path[:] = {sys.path!r}; "
    done = subprocess.run(
        [sys.executable, "-c", path + code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_selection_loads_numpy_and_nothing_heavier():
    loaded = loaded_by(
        "import terrafl.selection as s; [getattr(s, name) for name in s.__all__]; s.Terraform()"
    )

    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_the_guard_and_the_attacks_load_numpy_and_nothing_heavier():
    loaded = loaded_by(
        "import terrafl.defences.guard, terrafl.defences; terrafl.defences.guard.Guard()"
    )

    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_importing_the_package_costs_nothing():
    assert not loaded_by("import terrafl") & (HEAVY | {"numpy"})


def test_configurations_and_results_are_read_without_torch():
    loaded = loaded_by(
        "import terrafl.experiments.config as c; c.resolve(); import terrafl.reports, terrafl.runs"
    )

    assert "torch" not in loaded


def test_every_public_name_is_there():
    for name in terrafl.__all__:
        assert getattr(terrafl, name) is not None
    assert set(terrafl.__all__) <= set(dir(terrafl))


@pytest.mark.parametrize("package", ["terrafl", "terrafl.selection"])
def test_a_star_import_brings_every_public_name(package):
    names = {}
    exec(f"from {package} import *", names)

    listed = __import__(package, fromlist=["__all__"]).__all__
    assert {"Terraform", "Random"} <= set(listed) <= set(names)
    assert all(names[name] is not None for name in listed)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'terrafl' has no attribute 'nothing'"):
        _ = terrafl.nothing


def test_the_version_is_that_of_the_installed_package():
    assert terrafl.__version__ == version("terrafl")


def test_types_are_shipped():
    assert (SOURCE / "py.typed").exists()


@every_module
def test_a_module_says_what_it_is(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))

    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":", "?"))


@every_module
def test_what_a_module_makes_public_is_documented(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


@every_module
def test_a_file_is_one_idea(path):
    assert len(path.read_text().splitlines()) <= 400


@every_module
def test_a_function_fits_a_screen(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 60, f"{node.name} has {lines} lines"


OWNERS_OF_TORCH_S_GENERATOR = {"seeds.py"}


@every_module
def test_no_global_generator_is_touched(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        assert not re.match(r"(np|numpy)\.random\.(seed|rand|randn|random|choice|shuffle)$", called)
        assert not re.match(r"random\.\w+$", called)
        if str(path.relative_to(SOURCE)) not in OWNERS_OF_TORCH_S_GENERATOR:
            assert called not in ("torch.manual_seed", "torch.seed", "np.random.default_rng")


@pytest.mark.parametrize(
    "path",
    sorted(p for p in SOURCE.rglob("*") if p.is_file() and p.suffix != ".pyc"),
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_file_names_somebody_s_machine(path):
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()

    assert not re.search(r"/(home|Users|root|work|opt|mnt)/\w", text)
    assert not re.search(r"(?i)\b(todo|fixme|xxx)\b", text)
