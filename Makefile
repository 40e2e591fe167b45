# Headwork from a fresh clone, with nothing but Python and make. `make help` lists the targets.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test browser peers check sanitize installs clean

# The Python that .venv is made with; once there is a .venv, its own.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell if test -x .venv/bin/python; then echo .venv/bin/python; else echo python3; fi)
endif

# Makes .venv fit, which takes no time when it already is.  $(environment) [EXTRA...]
environment = @command -v '$(PYTHON)' >/dev/null || { echo >&2 "Headwork needs Python 3.11 or newer, and\
 there is no '$(PYTHON)' here. Install it (Debian: apt install python3 python3-venv), or name it:\
 make $@ PYTHON=python3.12"; exit 1; }; '$(PYTHON)' scripts/environment.py

help:
	@echo 'make run      open the workbook in the browser (sets everything up the first time)'
	@echo 'make test     all tests; says what was skipped and how to enable it.  make test ARGS="-k scale"'
	@echo 'make browser  work the pages in a real browser (needs Chromium: apt install chromium)'
	@echo 'make peers    install torch, jax, onnx and onnxruntime, for the tests that compare with them'
	@echo 'make check    format, lint, types, the import rule, examples in docstrings and documents'
	@echo 'make sanitize the kernel under address, undefined-behaviour and thread sanitizers (needs GCC)'
	@echo 'make installs  install as people would: a repaired wheel, and without a compiler'
	@echo 'make clean    remove .venv and everything else that was made'
	@echo
	@echo 'PYTHON=python3.12 chooses the Python (3.11 or newer).'
	@echo 'HEADWORK_SEED=7 varies the random numbers of the tests; without it they are always the same.'

run:
	$(environment)
	@.venv/bin/headwork open

test:
	$(environment) test
	.venv/bin/python -m pytest -n auto $(ARGS)

browser:
	$(environment) browser
	HEADWORK_BROWSER=1 .venv/bin/python -m pytest -n auto tests/browser $(ARGS)

peers:
	$(environment) peers

check:
	$(environment) dev
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo
	# autograd.py has no examples, and cannot be imported without torch
	.venv/bin/python -m pytest -q --doctest-modules --doctest-glob='*.md' --ignore=src/headwork/mechanism/autograd.py \
	    src/headwork $(wildcard README.md docs)

sanitize:
	$(environment) test
	.venv/bin/python scripts/sanitize.py

installs:
	$(environment)
	.venv/bin/python scripts/installs.py

clean:
	rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find bench scripts src tests -name __pycache__ -prune -exec rm -rf {} +
