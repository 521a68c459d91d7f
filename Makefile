# Everything lives in .venv; `make demo` and `make test` need Python >= 3.11 and nothing else.
# `make test` also makes .venv-light, which has no torch, and runs in it what must not need torch.
PYTHON ?= python3
BIN := .venv/bin
LIGHT := .venv-light/bin
WITHOUT_TORCH := tests/photos tests/cli/test_photos.py tests/extractor tests/estimator tests/test_house.py

.PHONY: demo test lint types check check-without-torch bench fuzz readme clean

# $(call demonstrate,ENVIRONMENT/bin,FOLDER)
define demonstrate
$(1)/clsnet bench FashionMNIST-10/5 --preset fast --out $(2) || { \
    status=$$?; [ $$status -eq 2 ] || exit $$status; \
    echo "Fashion-MNIST cannot be had here; learning Digits instead."; \
    $(1)/clsnet bench Digits-10/5 --preset fast --out $(2); }
endef

demo: .venv/installed
	@$(call demonstrate,$(BIN),runs/demo)

test: lint types check check-without-torch

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy

check: .venv/installed
	$(BIN)/python -m pytest -n auto

check-without-torch: .venv-light/installed
	@! $(LIGHT)/python -c "import torch" 2>/dev/null || { echo "$(LIGHT) has torch"; exit 1; }
	$(LIGHT)/python -m pytest -n auto $(WITHOUT_TORCH)
	@rm -rf runs/demo-without-torch
	@$(call demonstrate,$(LIGHT),runs/demo-without-torch)

bench: .venv/installed
	$(BIN)/python benchmarks/all.py

SECONDS ?= 600
fuzz: .venv/installed
	$(BIN)/python -m tests.fuzz $(SECONDS)

readme: .venv/installed
	$(BIN)/python -m clsnet.reporting.readme results README.md docs/*.md

.venv/installed: EXTRAS := dev
.venv-light/installed: EXTRAS := cli,vision,export,test
.venv/installed .venv-light/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "clsnet needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

clean:
	rm -rf .venv .venv-light runs build dist
