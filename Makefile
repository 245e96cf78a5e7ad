# Maar's verbs. Everything lives in .venv; every target is safe to run again.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: help setup demo test browser kubernetes prometheus test-kubernetes soak laws fuzz check format lint types layers house bench docs release release-check clean

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-24s%s\n", $$1, $$2}'

setup: $(STAMP) ## make the environment in .venv

$(STAMP): pyproject.toml constraints.txt deploy/chart/maar/Chart.yaml tools/make_venv.sh
	@PYTHON="$(PYTHON)" sh tools/make_venv.sh "$(VENV)"
	@touch $@

demo: $(STAMP) ## play an hour of an example organisation in a minute; DEMO=stay keeps its cluster
	@$(BIN)/maar demo $(if $(filter stay,$(DEMO)),--stay)

test: $(STAMP) ## run the tests
	@echo "test: unit tests, scenarios and laws"
	@$(BIN)/pytest -q -n auto --dist worksteal --hypothesis-seed=1

kubernetes: $(STAMP) ## build a real control plane for tests into your cache folder; minutes the first time
	@$(BIN)/python tools/kubernetes/build.py

browser: $(STAMP) ## install Debian's Chromium for the tests of the console, where it is missing
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "browser: installing Debian's chromium"; \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	  else \
	    echo "browser: install Chromium (Debian's package chromium), then run make again" >&2; exit 1; \
	  fi; }

prometheus: $(STAMP) ## build a real Prometheus for tests into your cache folder; minutes the first time
	@$(BIN)/python tools/prometheus/build.py

test-kubernetes: kubernetes prometheus browser ## run the contract and end-to-end tests on a real control plane
	@echo "test-kubernetes: contract and end-to-end tests on a real control plane"
	@MAAR_KUBERNETES=required $(BIN)/pytest -q -n 2 --dist loadfile -m "not embedded" tests/contract tests/e2e

soak: kubernetes ## churn for twenty minutes on a real control plane; fails where memory grows
	@$(BIN)/python bench/soak.py

laws: $(STAMP) ## try the laws on four times as many trees and clusters, which nobody has seen yet
	@echo "laws: in full, with a fresh seed, printed at the end"
	@MAAR_LAWS=all $(BIN)/pytest -q -n auto --dist worksteal tests/properties

fuzz: $(STAMP) ## send 100,000 hostile requests to the embedded server and to admission; minutes
	@echo "fuzz: 100,000 hostile requests each, with a fresh seed, printed at the end"
	@MAAR_FUZZ=100000 $(BIN)/pytest -q -n auto tests/properties/test_server_fuzz.py tests/properties/test_admission_fuzz.py

check: $(STAMP) format lint types layers house ## format, lint, types, layers, house rules

format: $(STAMP)
	@echo "check: format"
	@$(BIN)/ruff format --quiet --check --diff .

lint: $(STAMP)
	@echo "check: lint"
	@$(BIN)/ruff check --quiet .

types: $(STAMP)
	@echo "check: types"
	@$(BIN)/mypy --no-error-summary

layers: $(STAMP)
	@echo "check: layers"
	@PYTHONPATH=src $(BIN)/lint-imports --no-logo

house: $(STAMP)
	@echo "check: house rules"
	@$(BIN)/python tools/house_rules.py
	@$(BIN)/python tools/rule_map.py --check
	@$(BIN)/python tools/dashboards/generate.py --check
	@PYTHONPATH=src $(BIN)/python tools/house_limits.py

bench: $(STAMP) ## run the benchmarks, each beside a reference measured in the same run
	@for file in bench/*_bench.py; do echo "bench: $$file"; $(BIN)/python $$file || exit 1; done

docs: $(STAMP) ## build the documentation as a site into build/site; open build/site/index.html
	@echo "docs: building the site, with warnings as errors"
	@PYTHONPATH=tools $(BIN)/python -m doc_site

release: $(STAMP) ## build all that is published of a version into dist: wheel, chart, manifests, image and more
	@PYTHONPATH=tools $(BIN)/python -m release

release-check: $(STAMP) ## build a release twice, and compare the two byte for byte
	@PYTHONPATH=tools $(BIN)/python -m release --check

clean: ## remove the environment and caches
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
