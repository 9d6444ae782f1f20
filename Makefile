# Two commands: `make run` for the study in config/config.yaml, `make test` for all checks.
PYTHON ?= python3
CONFIG ?= config/config.yaml
VENV := .venv
BIN := $(VENV)/bin
# A test that hangs is ended, with a trace of where it was; the others go on.
PYTEST := $(BIN)/python -m pytest --timeout 600
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist worksteal

.PHONY: docs site audit run test test-slow test-slurm test-browser slurm gpu clean

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
	$(BIN)/mypy
	$(BIN)/snakemake --lint
	$(PYTEST) $(SIDE_BY_SIDE)

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("error: circlet needs Python 3.11 or newer; name one with: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into $(VENV): a minute or more ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# What only some need: make .venv/with-browser, .venv/with-slurm.
$(VENV)/with-%: $(VENV)/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$*]'
	@touch $@

# So that the bare `snakemake --profile slurm` works: installs the plugin, and links the profile of this
# folder where Snakemake looks for names.
PROFILE := $(or $(XDG_CONFIG_HOME),$(HOME)/.config)/snakemake/slurm

slurm: $(VENV)/with-slurm
	@if [ -e $(PROFILE) ] && [ "$$(readlink -f $(PROFILE))" != "$$(readlink -f profiles/slurm)" ]; then \
	    echo "error: $(PROFILE) is another profile; move it, or use --profile profiles/slurm" >&2; exit 1; \
	fi
	@mkdir -p $(dir $(PROFILE))
	@ln -sfn $(CURDIR)/profiles/slurm $(PROFILE)
	@echo "$(PROFILE) -> $(CURDIR)/profiles/slurm"

# Pages of docs/ with numbers, from their templates and the frozen studies; and whether both agree, without training.
docs: $(VENV)/installed
	$(BIN)/python docs/render.py

# The same as a site, with the API from the docstrings, reports of the frozen studies, and the report and
# the explorer of config/tour.yaml. A link that leads nowhere is an error.
site: $(VENV)/with-site
	$(BIN)/snakemake --profile profiles/local --configfile config/tour.yaml
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "$(CURDIR)/site/index.html"

audit: $(VENV)/installed
	@for study in docs/studies/*/config.yaml; do $(BIN)/python -m circlet audit --configfile $$study || exit 1; done
	$(BIN)/python docs/render.py --check

# Sweeps whose processes are killed, studies of 100 000 runs, 2000 mutants of configs: minutes.
test-slow: $(VENV)/installed
	$(PYTEST) -m slow $(SIDE_BY_SIDE)

# On a real SLURM of two nodes, which is started for it and ended after it: needs root on Debian.
test-slurm: $(VENV)/with-slurm
	$(PYTEST) -m slurm

# On a machine with a GPU: that it computes what the CPU does, and how fast.
# The pipeline is left out: a GPU does not change it.
gpu: $(VENV)/installed
	$(BIN)/python -m pytest tests/training/test_gpu.py
	$(BIN)/python -m circlet bench --device cuda --training-only --configfile config/paper.yaml

# In a real browser, Debian's Chromium, after the formatter of JavaScript (Node's npm). Screenshots
# are left in tests/screenshots.
EXPLORER := src/circlet/pages/explorer

test-browser: $(VENV)/with-browser
	npm --prefix $(EXPLORER) ci --silent
	npm --prefix $(EXPLORER) run --silent check
	$(PYTEST) -m "browser and not alone" $(SIDE_BY_SIDE)
	$(PYTEST) -m "browser and alone"

clean:
	rm -rf $(VENV)
