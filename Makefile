# The commands of the checkout. `make demo` shows Hopwright at work, `make test`
# checks everything. Parts that build networks of namespaces need root.

CARGO ?= cargo
# Which border router the interoperability targets exercise: hopwright,
# reference, or a command line with {config} in it.
ROUTER ?= hopwright
ROOT := $(filter 0,$(shell id -u))

.PHONY: demo test lint unit stf p4runtime tutorial interop interop-tools braccept test-pages test-migrate test-network test-reload soak-short soak bench bench-long bench-brload hopwright

demo: hopwright interop-tools
	python3 demo/network.py demo --router "$(ROUTER)"

# Everything CI checks.
test: lint unit stf p4runtime tutorial interop

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile bench -- -D warnings

unit:
	$(CARGO) test --workspace --profile bench
	cd tests/interop && python3 -m unittest -q braccept_test docs_test

# Packet tests, with both engines, through the command.
stf: hopwright
	tests/stf/run.sh

# P4Runtime as finsy and p4runtime-shell see it.
ifneq ($(ROOT),)
p4runtime: hopwright
	tests/p4runtime/setup.sh
	tests/p4runtime/run.sh
else
p4runtime:
	@echo "SKIPPED: the P4Runtime tests need root (network namespaces). Run \`sudo make p4runtime\`." >&2
endif

# Types docs/tutorial.md.
ifneq ($(ROOT),)
tutorial: hopwright
	tests/tutorial/setup.sh
	tests/tutorial/run.sh
else
tutorial:
	@echo "SKIPPED: the tutorial's test needs root (network namespaces). Run \`sudo make tutorial\`." >&2
endif

ifneq ($(ROOT),)
interop: braccept test-pages test-migrate test-network test-reload soak-short
else
interop:
	@echo "==================================================================" >&2
	@echo "SKIPPED: braccept, test-pages, test-migrate, test-network, test-reload and soak-short need root (network namespaces)." >&2
	@echo "Run \`sudo make interop\` to run them." >&2
	@echo "==================================================================" >&2
endif

# The release build of our router; nothing to build for another router.
hopwright:
ifeq ($(ROUTER),hopwright)
	$(CARGO) build --release -p hopwright
endif

# The reference's tools, from the Go module pinned in tests/interop/go.mod.
interop-tools:
	tests/interop/setup.sh
	tests/interop/tools.sh

# The reference's acceptance tool.
braccept: hopwright interop-tools
	tests/interop/braccept.py --plain --router "$(ROUTER)"
	tests/interop/braccept.py --plain --router "hopwright+ports=af_xdp+cpus=[0,0]"
	tests/interop/braccept.py --bfd --router "$(ROUTER)"

# Metrics and status pages against the reference's.
test-pages: hopwright interop-tools
	tests/interop/pages_test.py --router "$(ROUTER)"

# A whole SCION network, with our routers everywhere and next to the reference's.
test-network: hopwright interop-tools
	tests/interop/network_test.py --router "$(ROUTER)"
	tests/interop/network_test.py --router "$(ROUTER)" --reference br110b,br111 --offloads
	tests/interop/network_test.py --router hopwright+slow_path=tap+ports=af_packet --reference br110b --offloads
	tests/interop/network_test.py --router "$(ROUTER)" --mtu 9000
	tests/interop/network_test.py --router "$(ROUTER)" --mixes
	tests/interop/network_test.py --router "hopwright+ports=af_packet+cpus=[0,0]+batch=1"

# One router becomes ours and the reference's again, as docs/migrate.md has it.
test-migrate: hopwright interop-tools
	tests/interop/migrate_test.py

# A router's configuration changes under traffic.
test-reload: hopwright
	tests/interop/reload_test.py

# A router under load, floods, flapping links and changes of its configuration, and
# its books: a short one for every test, and ten minutes of it.
soak-short: hopwright interop-tools
	bench/soak.py --seconds 20 --may-starve

soak: hopwright interop-tools
	bench/soak.py --seconds 600

# What everything costs, in memory and against the reference, in some five minutes; bench-long
# takes twenty minutes. The reference's load generator needs root.
bench: hopwright interop-tools
	bench/run.py

bench-long: hopwright interop-tools
	bench/run.py --long

# The reference's load generator against both routers; figures, not a test.
bench-brload: hopwright interop-tools
	bench/brload.sh
