# Everything runs out of .venv; nothing has to be activated. The second run of a target only checks a time stamp.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ARGS ?=
WORKERS ?= 2

ifdef UV
CREATE = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
CREATE = test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.DEFAULT_GOAL := help
.PHONY: help run test check bench bench-security format clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(VENV)/.run: pyproject.toml
	@echo "Installing into $(VENV) …"
	@$(CREATE)
	@$(INSTALL) -e '.[local,fast]'
	@touch $@

$(VENV)/.dev: pyproject.toml
	@echo "Installing into $(VENV) …"
	@$(CREATE)
	@$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.run

run: $(VENV)/.run ## Install, fetch the demo model, start the bot (ARGS="--port 9000")
	@$(BIN)/python -m bot model get --if-needed
	@$(BIN)/python -m bot run $(ARGS)

test: $(VENV)/.dev ## Install and run all tests, two at a time (ARGS="-k lanes", WORKERS=0: one after another)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/.dev ## Lint, types, licences, documents
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python .ci/licences.py
	@$(BIN)/python -m pytest -q tests/test_docs.py

bench: $(VENV)/.dev ## Measure; prints a table, writes bench/results.json
	@$(BIN)/python -m bench $(ARGS)

bench-security: $(VENV)/.dev ## Measure the injection scanner (SECURITY_CORPUS=file)
	@$(BIN)/python -m bench.security $(ARGS)

format: $(VENV)/.dev ## Format and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## Remove all that was made here (not your data in BOT_HOME)
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
