# Everything lives in .venv; `make demo` and `make test` need Python >= 3.11 and nothing else.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types check bench readme clean

demo: .venv/installed
	@$(BIN)/clsnet bench FashionMNIST-10/5 --preset fast --out runs/demo || { \
	    status=$$?; [ $$status -eq 2 ] || exit $$status; \
	    echo "Fashion-MNIST cannot be had here; learning Digits instead."; \
	    $(BIN)/clsnet bench Digits-10/5 --preset fast --out runs/demo; }

test: lint types check

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy

check: .venv/installed
	$(BIN)/python -m pytest

bench: .venv/installed
	$(BIN)/python benchmarks/all.py

readme: .venv/installed
	$(BIN)/python -m clsnet.reporting.readme results README.md docs/*.md

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "clsnet needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv runs build dist
