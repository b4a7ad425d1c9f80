# Two commands do everything: `make demo` shows the whole loop, `make test` runs the tests. Both make their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests wait for git often: one process more than there are processors.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1)

.PHONY: demo test slow lint check bench clean

demo: $(VENV)/.installed
	@$(BIN)/instinct demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS)

slow: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) -m slow

lint: $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

check: $(VENV)/.installed
	$(BIN)/instinct check

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/processes.py
	$(BIN)/python -m pytest benchmarks -m '' --benchmark-columns=min,median,max

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.lint: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group lint
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks dist build
