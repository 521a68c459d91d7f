# Everything lives in .venv; `make demo` and `make test` need Python >= 3.11 and nothing else.
# `make test` also makes .venv-light, which has no torch, and runs in it what must not need torch.
PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
LIGHT := .venv-light/$(SCRIPTS)
RELEASE := .venv-release/$(SCRIPTS)
OLDEST := .venv-lowest/$(SCRIPTS)
WITHOUT_TORCH := tests/photos tests/page tests/cli/test_photos.py tests/extractor tests/estimator tests/test_house.py
# Files that never name torch test the same with it and without: once is enough.
ONCE := $(shell grep -rLw torch --include='test_*.py' $(WITHOUT_TORCH))

# Hundreds of tests start a process, and each would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

# Many tests wait for a process of their own, so there are more workers than cores. Each takes a
# stretch of files, so that what the tests of a file share is made once.
WORKERS ?= $(shell $(PYTHON) -c 'import os; n = os.cpu_count(); print(n + min(n, 2))')

.PHONY: demo test lint types check check-without-torch bench fuzz readme picture docs release lowest clean

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
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ONCE:%=--ignore=%)

check-without-torch: .venv-light/installed
	@! $(LIGHT)/python -c "import torch" 2>/dev/null || { echo "$(LIGHT) has torch"; exit 1; }
	$(LIGHT)/python -m pytest -n $(WORKERS) --dist worksteal $(WITHOUT_TORCH)
	@rm -rf runs/demo-without-torch
	@$(call demonstrate,$(LIGHT),runs/demo-without-torch)

bench: .venv/installed
	$(BIN)/python benchmarks/all.py

SECONDS ?= 600
fuzz: .venv/installed
	$(BIN)/python -m tests.fuzz $(SECONDS)

readme: .venv/installed
	$(BIN)/python -m clsnet.reporting.readme results README.md $$(find docs -name '*.md')

picture: .venv/installed
	$(BIN)/python tools/terminal.py docs/pictures/terminal.svg
	$(BIN)/python tools/diagrams.py docs/pictures
	$(BIN)/python tools/console.py README.md docs/tutorials/*.md docs/how-to/*.md
	$(BIN)/clsnet reproduce curvature trade-off --from results -o runs/pictures/page.html
	cp runs/pictures/page_files/curvature-1.svg docs/pictures/curvature.svg
	cp runs/pictures/page_files/trade-off-1.svg docs/pictures/trade-off.svg

docs: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# Builds what would be released, checks it, and tries each extra in an environment of its own.
release: .venv-release/installed
	PATH="$(CURDIR)/$(RELEASE):$$PATH" $(RELEASE)/python tools/release.py

LOWEST ?= cli,vision,export,page,report,test
# The oldest versions that the bounds of pyproject.toml allow; the tests of an old Starlette need httpx.
lowest: .venv-release/installed
	$(RELEASE)/uv venv --quiet --clear --python $(PYTHON) .venv-lowest
	$(RELEASE)/uv pip install --quiet --python $(OLDEST)/python --resolution lowest-direct \
	    -e '.[$(LOWEST)]' 'httpx>=0.27'
	$(OLDEST)/python -m pytest -n $(WORKERS) --dist worksteal $(WITHOUT_TORCH)

.venv/installed: EXTRAS := dev
.venv-light/installed: EXTRAS := cli,vision,export,page,test
.venv-release/installed: EXTRAS := release,vision
.venv/installed .venv-light/installed .venv-release/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "clsnet needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(@D)
	$(@D)/$(SCRIPTS)/python -m pip install --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

clean:
	rm -rf .venv .venv-light .venv-release .venv-lowest runs build dist site
