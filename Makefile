# Two commands are enough: `make demo` and `make test`. Both set everything up and are quick the second time.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test check lint types contracts docs bench clean help

help:            ## what can be made
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

demo: $(VENV)/.core            ## index the bundled documents and ask three questions
	@$(BIN)/veridical demo

test: $(VENV)/.dev            ## all tests, with the real embedded models
	@$(BIN)/veridical model pull smollm2 --quiet || echo "Without SmolLM2 the tests that need it are skipped."
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: lint types contracts docs            ## format, lint, types, import contracts, generated reference

lint: $(VENV)/.dev            ## ruff
	$(BIN)/ruff format --check src tests scripts benchmarks
	$(BIN)/ruff check src tests scripts benchmarks

types: $(VENV)/.dev            ## mypy, strict
	$(BIN)/mypy

contracts: $(VENV)/.dev            ## who may import whom
	$(BIN)/lint-imports

docs: $(VENV)/.dev            ## is the generated reference up to date?
	$(BIN)/python scripts/make_reference.py --check

bench: $(VENV)/.bench            ## the figures of docs/results (minutes; needs VERIDICAL_DATA)
	$(BIN)/python -m benchmarks

clean:            ## forget the environment and the demo's index
	rm -rf $(VENV) .demo

# A stamp holds the hash of what was installed, so that the second run does nothing.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "veridical needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	@echo "Installing veridical into $(VENV) (once; about a minute) ..."
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@echo "Installing veridical, its development tools and the local runtime into $(VENV) (once) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev,local,ocr,web]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,local,ocr,web,bench]'
	$(BIN)/python -m pip install --quiet --no-deps llama-index-retrievers-bm25
	@touch $@ $(VENV)/.dev $(VENV)/.core
