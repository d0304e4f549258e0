# The only task runner: each target sets up what it needs, on any machine with make and Python 3.11+.
#
#   make test                  in .venv, with the default torch
#   make test TORCH=2.15.0     in .venv-torch-2.15.0
#   make test ARGS="-k layers" more arguments for pytest
#   make test PYTHON=python3.12

DEFAULT_TORCH := 2.13.0
# torchvision loads only beside the build of torch it was compiled for, and the default torch may be
# a CPU build that has none: the benchmark takes the newest torch that is tested.
BENCH_TORCH := 2.15.0
TORCH ?= $(if $(filter bench targets precisions quantised,$(MAKECMDGOALS)),$(BENCH_TORCH),$(DEFAULT_TORCH))
PYTHON ?= python3
# The runtime of browsers, for the target ort-web: installed where npm is, beside the Python packages.
ORT_WEB := 1.30.0

VENV := $(if $(filter $(DEFAULT_TORCH),$(TORCH)),.venv,.venv-torch-$(TORCH))
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
ZOO_READY := $(VENV)/.ready-zoo

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test check fmt docs new bench conformance mixtures flows sizes releases targets precisions quantised hooks clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## the environment alone

demo: $(READY) ## export and prove the bundled example
	@mkdir -p build
	$(VENV)/bin/onnxpert export examples/classifier.py:Classifier --dynamic auto -o build/classifier.onnx

test: $(READY) ## the tests, on the torch of TORCH=
	$(PY) -m pytest -n 2 $(ARGS)

check: $(READY) ## ruff, mypy, and whether the generated docs are fresh
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(PY) tools/build_docs.py --check

fmt: $(READY) ## format the code and mend what ruff can mend
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

docs: $(READY) ## write docs/rules/ and docs/lowerings.md from the catalogues
	$(PY) tools/build_docs.py

new: ## start an entry: make new KIND=rule ID=SHP202 NAME=some-name
	@$(PYTHON) tools/new_entry.py "$(KIND)" --id "$(ID)" --name "$(NAME)"

# Another torch may have no torchvision, so no timm: the page then says which models are missing.
bench: $(if $(filter $(BENCH_TORCH),$(TORCH)),$(ZOO_READY),$(READY)) ## measure against torch's exporters, write docs/benchmarks.md
	$(PY) benchmarks/run.py $(ARGS)

conformance: $(READY) ## torch's whole operator database, write docs/operators.md; an hour on 2 cores
	$(PY) conformance/run.py $(ARGS)

mixtures: $(READY) ## random models in random dtypes, write docs/random-models.md; minutes
	$(PY) conformance/mixtures/run.py $(ARGS)

flows: $(READY) ## random programs of branches and loops, write docs/random-programs.md; minutes
	$(PY) conformance/flows/run.py $(ARGS)

sizes: $(READY) ## random programs of arithmetic with sizes, write docs/random-sizes.md; minutes
	$(PY) conformance/sizes/run.py $(ARGS)

releases: $(READY) ## try files in real older releases of ONNX Runtime, write docs/versions.md
	$(PY) tools/try_releases.py 1.17 1.20 1.23 --opsets --work build/releases --write $(ARGS)

targets: $(if $(filter $(BENCH_TORCH),$(TORCH)),$(ZOO_READY),$(READY)) ## try ten models on every target, write docs/targets.md
	$(PY) tools/try_targets.py --write $(ARGS)

precisions: $(if $(filter $(BENCH_TORCH),$(TORCH)),$(ZOO_READY),$(READY)) ## everyday models in half precision, write docs/precision.md
	$(PY) tools/try_precisions.py --write $(ARGS)

quantised: $(if $(filter $(BENCH_TORCH),$(TORCH)),$(ZOO_READY),$(READY)) ## models that torch quantised, write docs/quantisation.md
	$(PY) tools/try_quantised.py --write $(ARGS)

hooks: $(READY) ## check every commit (pre-commit)
	$(VENV)/bin/pre-commit install

clean: ## remove what was built; the environments stay (rm -r .venv*)
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests tools examples benchmarks conformance -name __pycache__ -prune -exec rm -rf {} +

# One resolution for everything, so that nothing replaces the torch that was asked for. The stamp
# is written last: an installation that was cut short is taken up again.
define install
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	  "onnxpert needs Python 3.11 or newer, $(PYTHON) is %d.%d: try make PYTHON=python3.11" % v[:2])'
	@echo "setting up $(VENV) with torch $(TORCH): minutes the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check \
	  -c constraints.txt torch==$(TORCH) -e '.[$(EXTRAS)]'
	@if command -v npm > /dev/null; then \
	  npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(VENV) onnxruntime-web@$(ORT_WEB) \
	  || echo "onnxruntime-web was not installed: the tests of the target ort-web are skipped"; fi
	@touch $@
endef

$(READY): EXTRAS := test,dev
$(READY): pyproject.toml constraints.txt
	$(install)

$(ZOO_READY): EXTRAS := zoo
$(ZOO_READY): $(READY)
	$(install)
