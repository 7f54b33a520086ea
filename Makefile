# `make demo` and `make test` set up what they need: a machine with Python 3.10 or later and git will do.
#
#   make PYTHON=python3.13 test      with another Python
#   make VENV=/elsewhere test        with the environment in another folder

# Tests start hundreds of processes, none of which is to compile again what another one has compiled.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV ?= .venv
PEERS ?= .venv-bench
MEASURED ?= .venv-measured
CODE_SERVER ?= .venv-code-server
BENCH ?=
HUNT ?= --count 1000
WORKERS ?= auto
BIN := $(VENV)/bin

# The stamp carries the version, so that another PYTHON makes the environment anew.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
MADE := $(VENV)/.made-with-python-$(VERSION)
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools-installed
TENSORFLOW := $(VENV)/.tensorflow-installed
MKDOCS := $(VENV)/.mkdocs-installed

.PHONY: help demo test quick lint docs rule hunt bench growth editing profile vsix vscode clean
help:
	@echo 'make demo      install into $(VENV), lint the slow fixtures, show what --fix would do to one'
	@echo 'make test      install what the tests need, then run ruff, mypy and all tests on all cores'
	@echo 'make quick     most tests, in about a minute on four cores: what to run while editing'
	@echo 'make lint      ruff, mypy and import-linter alone'
	@echo 'make docs      build the site into build/site'
	@echo 'make rule      begin a new rule: make rule CODE=TFP512 NAME=some-name (docs/adding-a-rule.md)'
	@echo 'make hunt      look for a fix that changes a program or breaks a file (HUNT=--help for options)'
	@echo 'make bench     time the linter and its peers on six real packages (BENCH=--help for options)'
	@echo 'make growth    what a line costs in files that are large or odd, against ordinary code'
	@echo 'make editing   how long an editor waits for findings after a key'
	@echo 'make profile   where the time of one process goes'
	@echo 'make vsix      make the extension for VS Code, editors/vscode/dist/tflint-perf.vsix (needs Node 20 or later)'
	@echo 'make vscode    test it in VS Code (needs Chromium, a C++ compiler and, on Debian, libkrb5-dev besides)'
	@echo 'make clean     remove what these made'

demo: $(INSTALLED)
	@echo '== tflint-perf --select ALL --output-format concise fixtures/*/slow.py'
	@$(BIN)/tflint-perf check --isolated --select ALL --output-format concise fixtures/*/slow.py || test $$? -eq 1
	@echo
	@echo '== tflint-perf --diff --unsafe-fixes fixtures/TFP101/slow.py'
	@$(BIN)/tflint-perf check --isolated --select ALL --diff --unsafe-fixes fixtures/TFP101/slow.py || test $$? -eq 1

test: lint $(TENSORFLOW)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

quick: $(TOOLS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow'

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(MKDOCS)
	$(BIN)/python -m mkdocs build --strict

rule: $(INSTALLED)
	@test -n '$(CODE)' && test -n '$(NAME)' || { echo 'say which: make rule CODE=TFP512 NAME=some-name' >&2; exit 2; }
	@$(BIN)/python -m tflint_perf.cli.scaffold '$(CODE)' '$(NAME)'

hunt: $(TOOLS) $(TENSORFLOW)
	$(BIN)/python -m tests.hunt $(HUNT)

# What is measured is installed as people install it: a copy, with its bytecode, and no finder for edited sources.
bench: $(MADE)
	$(PYTHON) -m venv $(MEASURED)
	rm -rf build/lib
	$(MEASURED)/bin/python -m pip install --quiet --force-reinstall .
	$(MEASURED)/bin/python benchmarks/bench.py --peers-venv $(PEERS) $(BENCH)

growth: $(INSTALLED)
	$(BIN)/python benchmarks/growth.py $(BENCH)

editing: $(TOOLS) $(TENSORFLOW)
	$(BIN)/python benchmarks/editor_latency.py $(BENCH)

profile: $(INSTALLED)
	$(BIN)/python benchmarks/profile_check.py $(BENCH)

vsix: editors/vscode/node_modules
	cp LICENSE editors/vscode/LICENSE.txt
	cd editors/vscode && npm run --silent check && npm run --silent build && npm run --silent test && npm run --silent package

vscode: vsix $(TOOLS) $(TENSORFLOW)
	editors/vscode/test/code-server.sh $(CODE_SERVER)
	node editors/vscode/test/browser.mjs $(CODE_SERVER) $(BIN)/python build/vscode.png

editors/vscode/node_modules: editors/vscode/package.json
	cd editors/vscode && npm install --ignore-scripts --no-package-lock --no-audit --no-fund
	@touch $@

clean:
	rm -rf $(VENV) $(PEERS) $(MEASURED) $(CODE_SERVER) build dist editors/vscode/dist editors/vscode/node_modules *.egg-info .mypy_cache .pytest_cache .ruff_cache .tflint-perf-cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@test -n '$(VERSION)' || { echo '$(PYTHON) does not run: set PYTHON to Python 3.10 or later, as in make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo '$(PYTHON) is Python $(VERSION): set PYTHON to 3.10 or later, as in make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
		{ echo '$(PYTHON) has no venv: install it (Debian and Ubuntu: apt install python$(VERSION)-venv)' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(INSTALLED): $(MADE) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(TOOLS): $(INSTALLED) pyproject.toml
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(TENSORFLOW): $(INSTALLED) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[verify]' --group older-keras
	@touch $@

$(MKDOCS): $(INSTALLED) pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@
