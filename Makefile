# Every target sets itself up: a virtual environment in .venv, then what it needs.
PYTHON ?= python3
BIN := .venv/bin
AUDIT := cellbounds audit build/delinquent.csv "[education|county]@1"

.PHONY: demo test test-long check lint docs pictures dist versions lowest bench bench-quick papers fuzz faults load budgets mutants clean

demo: .venv/.base
	@$(BIN)/cellbounds example delinquent -o build > /dev/null
	@echo '$$ $(AUDIT)'
	@$(BIN)/$(AUDIT)
	@echo
	@echo 'To go on with the quick start of README.md: . $(BIN)/activate'

test: .venv/.test .venv/.browser
	$(BIN)/python -m pytest -n auto --dist worksteal

test-long: .venv/.test .venv/.browser
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n auto --dist worksteal -o faulthandler_timeout=0

lint: .venv/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

bench: .venv/.bench
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

bench-quick: .venv/.bench
	$(BIN)/python -m benchmarks --quick -o build/benchmarks

# The site, in build/site: strict, so that a link or an anchor that leads nowhere ends it; the notebook
# is run and compared, and the pages are looked at in Chromium, from the disk.
docs: .venv/.docs .venv/.browser
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	$(BIN)/python -m website.notebooks
	$(BIN)/python -m website.looks

# The pictures of docs/pictures.md.
pictures: .venv/.docs
	$(BIN)/python -m website.pictures

# Wheel and sdist, built and installed where nothing else is, and a table audited with each.
dist: .venv/.python
	$(BIN)/python -m website.release dist

# The tests on every Python that is here, of 3.11 to 3.13, and with the oldest versions that
# pyproject.toml admits. Half an hour each; uv comes from the index.
versions: .venv/.python
	$(BIN)/python -m website.release versions

lowest: .venv/.python
	$(BIN)/python -m website.release lowest

# The pages of docs/papers; DATA is a folder with the tables that may not be shipped.
papers: .venv/.test
	$(BIN)/cellbounds reproduce --pages docs/papers $(if $(DATA),--data $(DATA)) -o build/reproduction.txt

# Malformed inputs for every command, each under limits of memory and time.
fuzz: .venv/.test
	$(BIN)/python -m reliability.fuzz --inputs $(or $(INPUTS),10000) --seed $(or $(SEED),1)

# Kills, full disks, wrong clocks, races; about a quarter of an hour. Needs Linux and a C compiler.
faults: .venv/.test
	$(BIN)/python -m reliability.faults --seed $(or $(SEED),1)

# Fifty people at one server on 127.0.0.1 while audits run, and approvals that race; MINUTES=10.
load: .venv/.test
	$(BIN)/python -m reliability.load --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

# Everything that takes a budget, on inputs that would take far longer; ONLY="posterior|sample" for some. Ten minutes.
budgets: .venv/.test
	$(BIN)/python -m reliability.budgets $(if $(ONLY),--only "$(ONLY)")

# Faults put into what decides, and the tests that notice; AREA=ledger for one area. Hours.
mutants: .venv/.test
	$(BIN)/python -m reliability.mutants $(if $(AREA),--area $(AREA))

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.base: .venv/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.test: .venv/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	touch $@

# The browser tests of the report need Chromium; where it cannot be had they are skipped and say so.
.venv/.browser: .venv/.python
	@for name in chromium chromium-browser google-chrome; do \
	    command -v $$name >/dev/null && exit 0; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else \
	    echo "no Chromium found: install it to run the browser tests"; \
	fi
	touch $@

.venv/.docs: .venv/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

.venv/.bench: .venv/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@
