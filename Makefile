# Each target builds its own environment when it is missing or pyproject.toml has changed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready-$(shell cksum < pyproject.toml | cut -d' ' -f1)

.PHONY: demo test check bench docs format
$(READY):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -e '.[dev]'
	rm -f $(VENV)/.ready-* && touch $@

demo: $(READY)
	$(BIN)/fairground demo

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python scripts/write_stubs.py --check
	$(BIN)/lint-imports
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest

bench: $(READY)
	$(BIN)/python -m benchmarks

# Pages that have vanished would linger in an old environment; warnings are errors.
docs: $(READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs build/docs
	@echo "open build/docs/index.html"

format: $(READY)
	$(BIN)/python scripts/write_stubs.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
