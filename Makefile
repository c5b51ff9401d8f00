# Every target sets itself up: a virtual environment in .venv, then what it needs.
PYTHON ?= python3
BIN := .venv/bin
EXAMPLE := src/cellbounds/papers/data/delinquent.csv

.PHONY: demo test test-long check lint bench bench-margins bench-tables bench-quick clean

demo: .venv/.base
	@echo '$$ cellbounds audit $(EXAMPLE) "[education|county]@2" --rounding consistent'
	@$(BIN)/cellbounds audit $(EXAMPLE) "[education|county]@2" --rounding consistent

test: .venv/.test
	$(BIN)/python -m pytest -n auto --dist worksteal

test-long: .venv/.test
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n auto --dist worksteal

lint: .venv/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

bench: .venv/.bench
	$(BIN)/python -m benchmarks.run

bench-margins: .venv/.bench
	$(BIN)/python -m benchmarks.margins.run

bench-tables: .venv/.bench
	$(BIN)/python -m benchmarks.tables.run

bench-quick: .venv/.bench
	$(BIN)/python -m benchmarks.run --quick -o build/benchmarks
	$(BIN)/python -m benchmarks.margins.run --quick -o build/benchmarks
	$(BIN)/python -m benchmarks.tables.run --quick -o build/benchmarks

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

.venv/.bench: .venv/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@
