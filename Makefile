# Every target makes the virtual environment it needs, from the lock file. CI calls the same targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ONCE ?=
PYTEST_FLAGS ?=
export PYTHONDONTWRITEBYTECODE = 1

.DEFAULT_GOAL := help
.PHONY: help run test test-fast soak bench lint audit cluster venv lock controlplane wheel sbom image clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

venv: $(READY) ## the virtual environment at .venv, from the lock file

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Gangwarden needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

run: $(READY) ## serve examples/ with embedded defaults, again on every edit; ONCE=1 stops after the first pass
	@$(BIN)/gangwarden dev $(if $(ONCE),--once) examples

test: $(READY) controlplane ## everything that proves correctness, on a real control plane; PYTEST_FLAGS= more for pytest
	@$(BIN)/python -m pytest -m "not soak" $(PYTEST_FLAGS)

test-fast: $(READY) ## the tests that need no control plane
	@$(BIN)/python -m pytest -m "not soak and not e2e"

soak: $(READY) controlplane ## repetitions and long runs; the result goes to docs/results/soak.md
	@$(BIN)/python -m pytest -m soak

bench: $(READY) controlplane ## speed and memory as ratios against an anchor; the result goes to docs/results/bench.md
	@$(BIN)/python -m tests.bench

lint: $(READY) ## style, types, import contracts, sizes, lock file
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache >/tmp/gangwarden-imports.$$$$ 2>&1 || { cat /tmp/gangwarden-imports.$$$$; rm -f /tmp/gangwarden-imports.$$$$; exit 1; }; rm -f /tmp/gangwarden-imports.$$$$
	@$(BIN)/python -m tests.sizes

audit: $(READY) ## ask the public database of advisories about every locked package; fails where it does not answer
	@$(BIN)/python -m tests.audit

cluster: $(READY) controlplane ## a real control plane with Gangwarden on it, until Ctrl-C
	@$(BIN)/python -m tests.controlplane.up

controlplane: $(READY) ## build etcd, Kubernetes, kwok and helm once into the cache
	@$(BIN)/python -m tests.controlplane.build

lock: $(READY) ## renew the lock files from pyproject.toml: requirements.lock, and of it what the image holds and what builds the wheel
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra dev pyproject.toml --output-file requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --constraints requirements.lock pyproject.toml --output-file requirements-runtime.lock
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	  | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --constraints requirements.lock - --output-file requirements-build.lock

wheel: $(READY) ## the wheel in dist/, the same bytes for the same commit
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -t wheel -d dist

sbom: $(READY) ## what is in the image besides ours, as CycloneDX in dist/gangwarden.cdx.json
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements --output-reproducible --of JSON --pyproject pyproject.toml --mc-type application -o dist/gangwarden.cdx.json requirements-runtime.lock

image: ## the container image gangwarden:<version>; needs docker
	@docker build --build-arg SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) -t gangwarden:$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) .

clean: ## remove the virtual environment and caches of this checkout
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist
