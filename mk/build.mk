### Building and installing

.PHONY: hopwright rina-api dist install interop-tools tools arm64-tools

# What is built for, as Debian names it: amd64 or arm64. ARCH=arm64 cross-compiles on a machine of the other architecture.
HERE := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(shell uname -m)))
ARCH ?= $(HERE)
ifeq ($(ARCH),$(HERE))
RELEASE := $(TARGET)/release
DIST := $(TARGET)/dist
else ifeq ($(ARCH),arm64)
RELEASE := $(TARGET)/aarch64-unknown-linux-gnu/release
DIST := $(TARGET)/dist-arm64
CROSS := --target aarch64-unknown-linux-gnu
CROSS_FEATURES := --features hopwright-scion/cross-arm64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
export OBJCOPY := aarch64-linux-gnu-objcopy
export EMULATOR := qemu-aarch64 -L /usr/aarch64-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER := $(EMULATOR)
else
$(error ARCH=$(ARCH): expected $(HERE), or arm64)
endif

## hopwright: the command, optimised: target/release/hopwright
# Nothing is built to exercise another router.
hopwright:
ifeq ($(ROUTER),hopwright)
	$(CARGO) build --release -p hopwright-cli $(CROSS) $(CROSS_FEATURES)
endif

## rina-api: the library of C programs that use RINA: target/release/librina_api.so, which is installed as librina-api.so
# Built with the command, so that what both contain is compiled once.
rina-api: hopwright
	$(CARGO) build --release -p hopwright-cli -p hopwright-rina-api $(CROSS) $(CROSS_FEATURES)

# The command with the SCION router alone, which is built in half the time. Where the whole command has been built it stays whole.
.PHONY: hopwright-scion
hopwright-scion:
ifeq ($(ROUTER),hopwright)
	$(CARGO) build --release -p hopwright-cli \
	  $$($(TARGET)/release/hopwright rina --help >/dev/null 2>&1 || echo --no-default-features --features scion)
endif

## arm64-tools: what ARCH=arm64 needs, from Debian and rustup (root): a cross compiler, and an emulator that runs what it made
arm64-tools:
	tests/arm64/setup.sh

## dist: what is installed: the command without debug information, and that in a file beside it; man pages and completions
dist: hopwright rina-api
	packaging/dist.sh $(RELEASE)/hopwright $(DIST)

# zsh keeps completions of packages in a folder that distributions choose.
ZSH_COMPLETIONS ?= $(if $(wildcard /etc/debian_version),vendor-completions,site-functions)

# The names of BMv2 and p4c (docs/from-bmv2.md), in a folder of their own: they are found only if it is on PATH.
BMV2_NAMES := simple_switch simple_switch_grpc psa_switch p4c p4c-bm2-ss p4c-bm2-psa

## install: the command, its debug information, man pages, completions, systemd units, alert rules and dashboard, below $(DESTDIR)$(PREFIX)
install: dist
	install -D -m 755 $(DIST)/hopwright $(DESTDIR)$(PREFIX)/bin/hopwright
	install -D -m 644 $(DIST)/hopwright.debug $(DESTDIR)/usr/lib/debug$(PREFIX)/bin/hopwright.debug
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(DIST)/man/*.1
	install -D -m 644 $(DIST)/completions/hopwright.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hopwright
	install -D -m 644 $(DIST)/completions/_hopwright $(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_COMPLETIONS)/_hopwright
	install -D -m 644 $(DIST)/completions/hopwright.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hopwright.fish
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/hopwright/monitoring packaging/monitoring/*
	install -D -m 644 $(DIST)/librina-api.so $(DESTDIR)$(PREFIX)/lib/hopwright/librina-api.so
	install -D -m 644 crates/apps/rina-api/include/rina/api.h $(DESTDIR)$(PREFIX)/include/hopwright/rina/api.h
	install -d $(DESTDIR)$(PREFIX)/lib/hopwright/bmv2
	for name in $(BMV2_NAMES); do ln -sf ../../../bin/hopwright $(DESTDIR)$(PREFIX)/lib/hopwright/bmv2/$$name || exit; done
	for unit in hopwright-router@.service hopwright-switch.service hopwright-rina@.service hopwright-ip@.service hopwright-openflow@.service; do \
		install -D -m 644 packaging/$$unit $(DESTDIR)/etc/systemd/system/$$unit || exit; done

## interop-tools: the reference's SCION tools, from the Go module pinned in tests/interop/go.mod; REFERENCE=v0.15.1: of that release
interop-tools:
	tests/interop/setup.sh
	tests/interop/tools.sh

# Those that the demonstration runs.
.PHONY: demo-tools
demo-tools:
	tests/interop/setup.sh
	tests/interop/tools.sh demo

## tools: everything that tests talk to: the reference's tools, controllers, routing daemons, hardware tools
# One after the other: packages are installed by one at a time.
tools: | interop-tools
ifneq ($(ROOT),)
	for tool in tutorial p4runtime bfruntime thrift page ip openflow rina rtl monitoring management; do tests/$$tool/setup.sh || exit; done
endif
