# One environment that grows: `make demo` installs what a user needs, the other targets what developing needs on top.
# Each target brings it up to date when it is missing or pyproject.toml or constraints.txt has changed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SUM    := $(shell cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
DEMO   := $(VENV)/.demo-$(SUM)
READY  := $(VENV)/.ready-$(SUM)
# Python may cache bytecode here: without it every process would compile torch again, most of the time of a small run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check house bench results docs format
$(DEMO):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	rm -f $(VENV)/.demo-* && touch $@

$(READY): $(DEMO)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	rm -f $(VENV)/.ready-* && touch $@

demo: $(DEMO)
	$(BIN)/fairground demo

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python scripts/write_stubs.py --check
	$(BIN)/lint-imports
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest

# The size of the package and the files its commands walk through, beside the goals: two minutes.
house: $(READY)
	$(BIN)/python scripts/house.py --walks

bench: $(READY)
	$(BIN)/python -m benchmarks

# Every page of docs/results, from the exported records alone: seconds, and nothing is trained.
results: $(READY)
	$(BIN)/python -m studies.results

# Pages that have vanished would linger in an old environment; warnings are errors.
docs: $(READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs build/docs
	@echo "open build/docs/index.html"

format: $(READY)
	$(BIN)/python scripts/write_stubs.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
