# Each target builds its own environment when it is missing or pyproject.toml has changed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready-$(shell cksum < pyproject.toml | cut -d' ' -f1)

.PHONY: demo test check bench format
$(READY):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -e '.[dev]'
	rm -f $(VENV)/.ready-* && touch $@

demo: $(READY)
	$(BIN)/fairground demo

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest

bench: $(READY)
	$(BIN)/python -m benchmarks

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
