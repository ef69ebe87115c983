# Everything a newcomer, a developer and CI run. `make help` lists it.
PYTHON ?= python3
UV ?= uv
ARGS ?=
BIN := .venv/bin
CONTROLPLANE := tests/controlplane
# kubectl refuses an API server that does not say which version it is
GO_BUILD := go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.1"
STAMP := .venv/.installed
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup demo test controlplane test-contract test-crash e2e soak check format openapi generated bench lock

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 24

setup: $(STAMP) ## install what requirements.lock says into .venv, once

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Pumice needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	@echo "Installing into .venv (a minute or two the first time) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "The Python in .venv is older than 3.11: remove .venv and try again."; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup ## play the main scenario on a simulated cluster
	@$(BIN)/pumice demo $(ARGS)

test: setup ## run every suite that needs neither Go nor Docker
	$(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal $(ARGS)

controlplane: $(CONTROLPLANE)/bin/.built ## build a real kube-apiserver, etcd, controller manager and kwok (needs Go)

$(CONTROLPLANE)/bin/.built: $(CONTROLPLANE)/go.mod $(CONTROLPLANE)/go.sum
	@if ! command -v go >/dev/null && [ -z "$$CI" ]; then echo "There is no Go here: skipped."; else \
		echo "Building the control plane (about ten minutes the first time) ..." && cd $(CONTROLPLANE) && \
		$(GO_BUILD) -o bin/etcd go.etcd.io/etcd/server/v3 && \
		$(GO_BUILD) -o bin/ k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager \
			sigs.k8s.io/kwok/cmd/kwok && touch bin/.built; fi

test-contract: setup controlplane ## run the contract suite on a real kube-apiserver
	$(BIN)/pytest tests/contract tests/e2e/test_simulate_kubeconfig.py --control-plane -n 2 --dist loadfile \
		--ignore tests/contract/volcano --ignore tests/contract/test_kubectl.py $(ARGS)

test-crash: setup controlplane ## kill, freeze and cut off everything, on a real kube-apiserver
	$(BIN)/pytest tests/crash --control-plane -n 2 --dist worksteal $(ARGS)

e2e: setup $(if $(findstring --control-plane,$(ARGS)),controlplane) ## play the scenarios on the cluster of KUBECONFIG, or a simulated one
	$(BIN)/pytest tests/e2e/cluster $(ARGS)

soak: setup controlplane ## half an hour of random faults; its table goes into docs/reliability.md
	$(BIN)/python -m tests.crash.soak --write $(ARGS)

check: setup ## lint, types, layers, and drift of generated files and of the schema
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pumice openapi --check
	$(BIN)/pumice settings --check
	$(BIN)/pumice problems --check
	$(BIN)/pytest -q tests/db/test_migrations.py

format: setup ## format the code and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

openapi: setup ## renew openapi/openapi.json
	$(BIN)/pumice openapi --write

generated: openapi ## renew every file that is generated from the code
	$(BIN)/pumice settings --write
	$(BIN)/pumice problems --write

bench: setup ## measure, as ratios within one run
	$(BIN)/python -m bench.run $(ARGS)

lock: ## renew the locks after a change of pyproject.toml (needs uv)
	$(COMPILE) --extra dev -o requirements.lock
	$(COMPILE) -o deploy/requirements.lock -c requirements.lock
