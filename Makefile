# The commands of the checkout; `make help` lists them. `make demo` shows Hopwright at work, `make test` checks everything.
# Recipes lie in mk/, by subject. Parts that build networks of namespaces need root.

CARGO ?= cargo
# Which border router the interoperability targets exercise: hopwright, reference, or a command line with {config} in it.
ROUTER ?= hopwright
# The release of the reference that these targets talk to; tests/interop has a file of modules for each.
export REFERENCE ?= v0.14.0
PREFIX ?= /usr
TARGET := $(or $(CARGO_TARGET_DIR),target)
ROOT := $(filter 0,$(shell id -u))

.DEFAULT_GOAL := help

include mk/demo.mk mk/build.mk mk/packages.mk mk/test.mk mk/rtl.mk mk/bench.mk
ifneq ($(ROOT),)
include mk/networks.mk
else
# Every target of networks.mk says that it is skipped; Rust tests that open packet sockets or namespaces are skipped, too.
export HOPWRIGHT_SKIP_PRIVILEGED_TESTS := 1
NETWORKS := $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' mk/networks.mk | sort -u)
.PHONY: $(NETWORKS)
$(NETWORKS):
	@echo "SKIPPED: make $@ needs root, because it creates network namespaces: sudo make $@" >&2
endif

## help: lists the targets
.PHONY: help
help:
	@echo "make TARGET, by subject:"
	@for file in $(filter-out Makefile,$(MAKEFILE_LIST)); do sed -n 's/^### \(.*\)/\n\1/p; s/^## \([^:]*\): \(.*\)/  \1\t\2/p' $$file; done \
	  | awk -F'\t' 'NF == 2 { printf "%-34s%s\n", $$1, $$2; next } { print }'
	@echo
	@echo "ROUTER=reference runs the interoperability targets with the reference's border router, REFERENCE=v0.15.1 with that release of it;"
	@echo "REPEAT=N and BUSY=N are for make test."
