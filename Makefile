# The front door.
#
#   make                                   build everything (build/release/bin)
#   make demo                              ResNet-18 on a 168-core chip: compile, check, predict
#   make demo-ipu21                        a transformer's MLP on a 1,472-tile processor, beside its measured plan
#   make test                              all tests
#   make bench                             figures of speed and quality; build/bench/summary.json
#   make MODEL=net.onnx CHIP=chip.json OUT=dir        compile one network into dir
#   make why TARGET=net-0.prog MODEL=net.onnx CHIP=chip.json OUT=dir     why a file would be made again
#   make measure MODELS="resnet18 my.onnx" CHIP=path  the figures of chosen networks
#   make sweep TABLE=table.tsv OUT=dir     models x chips x options into one table of results; docs/sweeps.md for clusters
#   make check-pimsim PIMSIM=/path/to/ChipTest        compare predictions with the public simulator, network by network
#   make check-timing PIMSIM=/path/to/ChipTest        the same for 60 random programs and the recorded ones
#   make check-ranking PIMSIM=/path/to/ChipTest       for all candidates of small networks on two chips: errors, and their order
#   make install PREFIX=/usr/local
#   make package                           a Debian package in build/release/packages
#
# Make runs as many jobs as there are processors; JOBS=n changes that. V=1 prints whole commands.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
BIN := $(BUILD)/bin
CHIP ?= targets/isaac-168x96.json
PREFIX ?= /usr/local
CMAKE_FLAGS ?=

.PHONY: all build compile why demo demo-ipu21 test bench measure sweep check-pimsim check-timing check-ranking reference install package clean help
.DEFAULT_GOAL := all

ifneq ($(MODEL),)
all: compile
else
all: build
endif

# Says what it installs and asks for root; does nothing where all is there.
build/.dependencies: scripts/install-dependencies
	@scripts/install-dependencies
	@mkdir -p build && touch $@

$(BUILD)/build.ninja: CMakePresets.json | build/.dependencies
	cmake --preset $(PRESET) $(CMAKE_FLAGS)

build: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

# One network. A stage named on the command line (LOWER=./my-lower) replaces weft's own.
OUT ?= out
compile: build
	@scripts/compile --bin $(BIN) --jobs $(JOBS) --model '$(MODEL)' --chip '$(CHIP)' --out '$(OUT)'

why: build
	@scripts/compile --bin $(BIN) --model '$(MODEL)' --chip '$(CHIP)' --out '$(OUT)' why

demo: build
	@scripts/demo --bin $(BIN) --jobs $(JOBS) --out build/demo

demo-ipu21: build
	@scripts/demo-ipu21 --bin $(BIN) --out build/demo-ipu21

# ONNX Runtime, the numeric reference of the tests. Without Node.js or network the tests use weft's own reference and say so.
reference:
	@scripts/install-reference

test: build reference
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

bench: build
	@scripts/measure --bin $(BIN) --jobs $(JOBS) --chip '$(CHIP)' --out build/bench $(if $(MODELS),--models '$(MODELS)')
	@scripts/bench-stages --bin $(BIN) --out build/bench $(if $(PIMSIM),--simulator '$(PIMSIM)')

measure: build
	@scripts/measure --bin $(BIN) --jobs $(JOBS) --chip '$(CHIP)' --out build/measure --models '$(MODELS)'

sweep: build
	@pipelines/sweep.py run '$(TABLE)' --bin $(BIN) -j $(JOBS) -o '$(OUT)' $(if $(STORE),--store '$(STORE)')

check-pimsim: build
	@scripts/check-pimsim --bin $(BIN) --jobs $(JOBS) --chip '$(CHIP)' --out build/pimsim --simulator '$(PIMSIM)' \
	  $(if $(PIMSIM_MODELS),--models '$(PIMSIM_MODELS)') $(if $(PIMSIM_SECONDS),--seconds $(PIMSIM_SECONDS))

# The error of latency and throughput, program by program.
check-timing: build
	@scripts/check-timing --bin $(BIN) --out build/timing --simulator '$(PIMSIM)' --random 60 --oracle tests/data/oracle

check-ranking: build
	@scripts/check-timing --bin $(BIN) --out build/ranking --simulator '$(PIMSIM)' --zoo $(if $(MODELS),'$(MODELS)') \
	  --zoo-chip targets/isaac-168x96.json --zoo-chip targets/pimcomp-144x64.json

install: build
	cmake --install $(BUILD) --prefix '$(PREFIX)'

package: build
	@cpack --config $(BUILD)/CPackConfig.cmake -B $(BUILD)/packages

clean:
	rm -rf build

help:
	@sed -n '3,/^$$/s/^# \{0,2\}//p' Makefile
