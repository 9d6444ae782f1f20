# Two commands: `make run` for the study in config/config.yaml, `make test` for all checks.
PYTHON ?= python3
CONFIG ?= config/config.yaml
VENV := .venv
BIN := $(VENV)/bin
# A test that hangs is stopped with a traceback; the others continue.
PYTEST := $(BIN)/python -m pytest --timeout 1800
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist worksteal
JAVASCRIPT := tests/pages/javascript
# Python keeps what it compiles when it first imports it; pip would compile all of torch, too.
export PYTHONDONTWRITEBYTECODE :=

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: docs pictures site audit run test test-slow test-slurm test-browser slurm gpu wheel lock clean

run: $(VENV)/installed
	@$(BIN)/python -m circlet plan --configfile $(CONFIG)
	@echo
	$(BIN)/snakemake --profile profiles/local --configfile $(CONFIG)
	@echo
	@$(BIN)/python -m circlet summary --configfile $(CONFIG)

test: $(VENV)/with-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/snakemake --lint
	@if command -v node >/dev/null; then \
	    node --test --import ./$(JAVASCRIPT)/modules.js $(JAVASCRIPT)/*.test.js; \
	else echo "There is no Node.js: the unit tests of the JavaScript were left out."; fi
	$(PYTEST) $(SIDE_BY_SIDE)

# The kernels are compiled while pip fetches the dependencies. An older pip takes twice as long. The
# pip of $(PYTHON), if it has one, installs a new pip faster than venv installs the pip it brings.
PIP = install --quiet --disable-pip-version-check --no-compile --upgrade 'pip>=25.1'
$(VENV)/installed: pyproject.toml setup.py constraints.txt $(wildcard src/circlet/native/kernels/*)
	@$(PYTHON) -c 'import sys; sys.exit("error: circlet needs Python 3.11 or newer; name one with: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into $(VENV): a minute or more ..."
	@$(PYTHON) -m venv --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python $(PIP) 2>/dev/null \
	    || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip $(PIP); }
	@$(INSTALL) --no-deps --editable . & kernels=$$!; trap "kill $$kernels" INT TERM; \
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
	    | $(INSTALL) --requirement /dev/stdin; dependencies=$$?; \
	wait $$kernels && exit $$dependencies
	@touch $@

# Optional dependencies: make .venv/with-load (polars), .venv/with-peers (JAX), ...
$(VENV)/with-%: $(VENV)/installed
	@$(INSTALL) 'circlet[$*]'
	@touch $@

# Processes of tests keep no compiled modules, so what they import is compiled before.
IMPORT_ALL = $(BIN)/python -c 'import pkgutil, circlet; names = (m.name for m in pkgutil.walk_packages(circlet.__path__, "circlet.")); [__import__(name) for name in names if "._" not in name and "peers" not in name]'

# Groups for developers: make .venv/with-dev (all checks), ...
$(patsubst %,$(VENV)/with-%,dev clouds browser site lock): $(VENV)/with-%: $(VENV)/installed
	@$(INSTALL) --group $*
	@$(if $(filter dev,$*),$(IMPORT_ALL))
	@touch $@

# Writes uv.lock with the versions of constraints.txt: after an edit of these, or of the dependencies.
lock: $(VENV)/with-lock
	@$(BIN)/uv lock $$(sed '/^#/d; s/^/--upgrade-package /' constraints.txt)

# Installs the SLURM plugin and links profiles/slurm to where Snakemake looks for profiles, so that
# `snakemake --profile slurm` works.
PROFILE := $(or $(XDG_CONFIG_HOME),$(HOME)/.config)/snakemake/slurm

slurm: $(VENV)/with-slurm
	@if [ -e $(PROFILE) ] && [ "$$(readlink -f $(PROFILE))" != "$$(readlink -f profiles/slurm)" ]; then \
	    echo "error: $(PROFILE) is another profile; move it, or use --profile profiles/slurm" >&2; exit 1; \
	fi
	@mkdir -p $(dir $(PROFILE))
	@ln -sfn $(CURDIR)/profiles/slurm $(PROFILE)
	@echo "$(PROFILE) -> $(CURDIR)/profiles/slurm"

# Writes the pages of docs/ that have numbers, from their templates and the frozen studies; `make pictures` also draws
# their pictures.
docs: $(VENV)/installed
	$(BIN)/python docs/render.py

pictures: $(VENV)/installed
	$(BIN)/python docs/render.py --pictures

# Builds the docs as a website, with the API from the docstrings, reports of the frozen studies, and the report and
# the explorer of config/tour.yaml. A broken link is an error.
TOUR ?= config/tour.yaml

site: $(VENV)/with-site
	$(BIN)/snakemake --profile profiles/local --configfile $(TOUR)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "$(CURDIR)/site/index.html"

# Recomputes the tables of the frozen studies that follow from others, and compares all numbers of docs/, without
# training.
audit: $(VENV)/installed
	@for study in docs/studies/*/config.yaml; do $(BIN)/python -m circlet audit --configfile $$study || exit 1; done
	$(BIN)/python docs/render.py --check

# Killed sweeps, studies of 100 000 runs, 1000 mutated configs. Takes minutes.
test-slow: $(VENV)/with-dev $(VENV)/with-clouds
	$(PYTEST) -m slow $(SIDE_BY_SIDE)

# Starts a real SLURM with two nodes and stops it afterwards. Needs root on Debian.
test-slurm: $(VENV)/with-dev $(VENV)/with-slurm
	$(PYTEST) -m slurm

# On a machine with a GPU: tests that it gives the same results as the CPU, and measures its speed.
# The pipeline is not measured, because a GPU does not change it.
gpu: $(VENV)/with-dev
	$(BIN)/python -m pytest tests/training/test_gpu.py
	$(BIN)/python -m circlet bench --device cuda

# Checks the format and the types of the JavaScript (with npm), then tests the pages in Debian's Chromium.
# Screenshots are written to tests/screenshots.
EXPLORER := src/circlet/pages/explorer

test-browser: $(VENV)/with-dev $(VENV)/with-browser
	npm --prefix $(EXPLORER) ci --silent
	npm --prefix $(EXPLORER) run --silent check
	$(PYTEST) -m browser $(SIDE_BY_SIDE)

# A wheel with the kernels, in dist/.
wheel: $(VENV)/installed
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist

clean:
	rm -rf $(VENV)
