# `make run` and `make test` need Python 3.11 or later, make and git; they install the rest into .venv.
PYTHON ?= python3
VENV := .venv
TOOLS := .tools
BIN := $(VENV)/bin
ARGS ?=
# One process for each core. Neighbours stay together, with the fixtures that they share, until one
# process has nothing left to do. (`--dist loadgroup` does not group with pytest 9.2 and xdist 3.8.)
PYTEST := $(BIN)/pytest -n auto --dist worksteal
ROOMS := attacks bench client conf launch report server strategies tasks

.PHONY: run bench quick test full lint types unit documented docs coverage dist test-compose lock sbom audit clean help \
	demo demo-attack demo-honest demo-kill demo-cut demo-back demo-join demo-down demo-renew

help:   ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

run: $(VENV)/.installed   ## the default experiment; ARGS="attack=sign_flip" changes it
	@$(BIN)/tagma run $(ARGS)
	@$(if $(ARGS),,$(BIN)/tagma compare)

bench: $(VENV)/.installed   ## a grid of attacks and defences; ARGS="seeds=5 bench.workers=1" changes it
	@$(BIN)/tagma bench quick $(ARGS)

quick: lint types   ## while you work, under two minutes: no other processes, no browser
	$(PYTEST) -m "not multiprocess and not browser and not slow and not full" $(ARGS)

test: lint types unit   ## everything that must pass, within ten minutes

full: test documented test-compose   ## and the commands of the docs, chaos, and the demo in containers

lint: $(VENV)/.installed-dev   ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev .types   ## static types
	cd .types && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache

.types: pyproject.toml tagma   # the packages as they are imported, for mypy and editors
	@rm -rf $@ && mkdir -p $@/tagma
	@cd $@/tagma && ln -s ../../tagma/*.py ../../tagma/py.typed $(ROOMS:%=../../%) .

unit: $(VENV)/.installed-dev   ## all tests
	$(PYTEST) $(ARGS)

documented: $(VENV)/.installed-dev   ## every command of the docs that is quick, and chaos
	$(PYTEST) -m full $(ARGS)

docs: $(VENV)/.installed-docs .types   ## the site of the documentation, in build/site; a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

coverage: $(VENV)/.installed-dev   ## lines that the quick tests reach; below the floor in pyproject.toml it fails
	$(PYTEST) -m "not multiprocess and not browser and not slow and not full" --cov --cov-report=term:skip-covered $(ARGS)

dist: $(VENV)/.installed $(TOOLS)/.installed   ## wheel and sdist in dist/, checked
	rm -rf dist build/lib build/bdist.*
	$(TOOLS)/bin/python -m build --outdir dist .
	$(TOOLS)/bin/twine check --strict dist/*

demo:   ## a federation of containers and its page; NODES=20, TASK=rotated_digits; needs Docker with Compose
	@NODES=$(NODES) TASK=$(TASK) ARGS="$(ARGS)" docker/demo.sh

demo-attack:   ## NODE=5 ATTACK=sign_flip: a node of the demo turns Byzantine
	@NODE=$(NODE) ATTACK=$(ATTACK) docker/demo.sh attack

demo-honest:   ## NODE=5: it is honest again
	@NODE=$(NODE) docker/demo.sh honest

demo-kill:   ## NODE=3: it dies
	@NODE=$(NODE) docker/demo.sh kill

demo-cut:   ## NODE=2: its network is cut
	@NODE=$(NODE) docker/demo.sh cut

demo-back:   ## NODE=3: it comes back from either
	@NODE=$(NODE) docker/demo.sh back

demo-join:   ## the late node comes
	@docker/demo.sh join

demo-down:   ## take the demo's containers, keys and results away
	@docker/demo.sh down

demo-renew:   ## replace the demo's certificates, all of which end after a year
	@docker/demo.sh renew

test-compose: $(VENV)/.installed-dev   ## the demo's tests, on a Docker engine if there is one
	@PYTHON=$(BIN)/python docker/test_compose.sh $(ARGS)

lock: $(VENV)/.installed-dev   ## write constraints.txt anew from what is installed, and the image's hashes
	@echo "# The versions that were tested together; \`make lock\` writes this file anew." > constraints.txt
	$(BIN)/pip freeze --exclude-editable --exclude tagma | sed 's/+cpu$$//' | sort -f >> constraints.txt
	$(BIN)/python docker/lock_packages.py

sbom: $(VENV)/.installed $(TOOLS)/.installed   ## sbom.json, a CycloneDX bill of what is in .venv, or in ARGS=PYTHON
	$(TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file sbom.json $(or $(ARGS),$(BIN)/python)

audit:   ## known vulnerabilities of the versions in constraints.txt, where advisories can be had
	@.ci/audit $(ARGS)

clean:   ## remove everything that was made
	rm -rf $(VENV) $(TOOLS) sbom.json .types build dist .coverage *.egg-info outputs .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Tagma needs Python 3.11 or later" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(TOOLS)/.installed: .ci/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --requirement .ci/tools.txt
	@touch $@

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@
