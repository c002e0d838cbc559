# A bare machine with Python 3.11 and make is enough: everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
# One more than there are processors: some tests wait for servers and processes.
WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# The larger reader is built once, and installed from there into every environment.
READER := .venv/larger_reader
# The tests start many interpreters, which would compile the whole package each.
test test-real: export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-real test-frameworks test-frameworks-lowest test-frameworks-newest check wheel clean

demo: .venv/installed
	@$(BIN)/ragtriage demo

# In the order of the folders, small files come last, so that no worker ends long after the others.
test: .venv/installed-dev
	@command -v chromium >/dev/null || echo "note: there is no 'chromium' here, so the browser tests of the report and the viewer are skipped (Debian: apt-get install chromium)"
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The LLM judge against real servers of its own, with a model that the tests write; llama-cpp-python may have to be compiled.
test-real: .venv/installed-dev .venv/installed-real
	RAGTRIAGE_REAL_PYTHON=$(CURDIR)/.venv/real/bin/python $(BIN)/python -m pytest tests/real/check_local_servers.py

# The adapters with the frameworks' own packages, in the lowest and the newest versions that are meant; quicker with -j2.
test-frameworks: test-frameworks-lowest test-frameworks-newest

test-frameworks-lowest test-frameworks-newest: test-frameworks-%:
	@$(MAKE) --no-print-directory .venv/frameworks-$*/installed || { echo "note: the $* versions of the frameworks can't be installed here, so their tests are skipped"; exit 0; }; \
	.venv/frameworks-$*/bin/python -m pytest -W default tests/adapters

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What a release is: two wheels, which pass the demo in an empty environment, away from this folder.
wheel: $(READER)/built
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	cp $(READER)/*.whl dist
	$(PYTHON) -m venv --clear dist/empty
	dist/empty/bin/python -m pip install --quiet dist/*.whl
	cd dist/empty && bin/ragtriage demo
	rm -rf dist/empty
	@ls -l dist

clean:
	rm -rf larger_reader/ragtriage_larger_reader/reader.* .venv dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv .venv

PARTS := NOTICE adapters.safetensors base_weights.txt build_model.py pyproject.toml ragtriage_larger_reader/__init__.py
$(READER)/built: .venv/bin/python training/graph.py training/arrays.py $(addprefix larger_reader/,$(PARTS))
	@rm -rf $(READER)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(READER) ./larger_reader
	@touch $@

.venv/installed: $(READER)/built pyproject.toml
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(READER)/*.whl
	$(BIN)/python -m pip install --quiet --editable '.[view]'
	@touch $@

.venv/installed-real: .venv/bin/python tests/real/requirements.txt
	$(PYTHON) -m venv .venv/real
	grep -v llama-cpp-python tests/real/requirements.txt | .venv/real/bin/python -m pip install --quiet --requirement /dev/stdin
	.venv/real/bin/python -m pip install --quiet --requirement tests/real/requirements.txt || echo "note: llama-cpp-python can't be built here, so its tests are skipped"
	@touch $@

.venv/frameworks-%/installed: tests/adapters/requirements-%.txt $(READER)/built pyproject.toml
	$(PYTHON) -m venv --clear .venv/frameworks-$*
	.venv/frameworks-$*/bin/python -m pip install --quiet --no-compile --requirement $< --editable . $(READER)/*.whl
	@touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	@touch $@
