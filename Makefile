# Everything runs in .venv, which the first target to need it creates.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# flwr pins older releases of typer, rich and packaging than ours: it has an environment of its own.
FLOWER := .venv-flower/bin
FLOWER_READY := .venv-flower/.ready
FLOWER_CLI := tests/cli/test_cli_runs.py tests/cli/test_cli_split.py
FLOWER_PAGE := tests/reports/browser/test_flower_in_browser.py
FLOWER_NODES := tests/flower/test_flower_processes.py

DOCS_READY := .venv/.docs-ready

.PHONY: demo docs notebook test test-flower lint types imports pytest torture dist format clean

demo: $(READY)
	$(BIN)/terrafl demo

test: lint types imports pytest

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

pytest: $(READY)
	$(BIN)/pytest -n auto

# 200 kills of real runs; KILLS=10 SEED=1 for fewer or others.
KILLS ?= 200
SEED ?= 0
torture: $(READY)
	$(BIN)/python tests/torture/torture.py --kills $(KILLS) --seed $(SEED)

test-flower: $(FLOWER_READY)
	$(FLOWER)/mypy
	$(FLOWER)/pytest -n auto src/terrafl/flower $(FLOWER_CLI) $(FLOWER_PAGE) tests/flower --ignore $(FLOWER_NODES)
	$(FLOWER)/pytest $(FLOWER_NODES)

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --outdir dist

# The site in site/, and the tutorial run anew: what it shows must be what comes out.
docs: $(DOCS_READY) notebook
	$(BIN)/mkdocs build --strict

notebook: $(DOCS_READY)
	$(BIN)/python docs/_site/notebook.py docs/tutorial.ipynb

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

$(FLOWER_READY): pyproject.toml constraints-flower.txt
	$(PYTHON) -m venv .venv-flower
	$(FLOWER)/python -m pip install --quiet --constraint constraints-flower.txt --editable ".[flower,dev]"
	@touch $@

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	@touch $@

clean:
	rm -rf .venv .venv-flower dist site demo report runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
