# Two commands: `make run` for the study in config/config.yaml, `make test` for all checks.
PYTHON ?= python3
CONFIG ?= config/config.yaml
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test clean

run: $(VENV)/installed
	@$(BIN)/python -m circlet plan --configfile $(CONFIG)
	@echo
	$(BIN)/snakemake --profile profiles/local --configfile $(CONFIG)
	@echo
	@$(BIN)/python -m circlet scorecard --configfile $(CONFIG)

test: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/python -m pytest

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("error: circlet needs Python 3.11 or newer; name one with: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into $(VENV): a minute or more ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV)
