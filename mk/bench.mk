### Measurements

.PHONY: bench bench-long bench-brload build-times soak test-layouts test-isolation

## bench: what everything costs, in memory and against the reference, in some five minutes
# The reference's load generator needs root.
bench: hopwright interop-tools
	bench/run.py

## bench-long: the same at length, and against Open vSwitch; twenty minutes
bench-long: hopwright interop-tools p4runtime-clients
	tests/openflow/setup.sh
	bench/setup.sh
	bench/run.py --long

## bench-brload: the reference's load generator against both routers; figures, not a test
bench-brload: hopwright interop-tools
	bench/brload.sh

## build-times: how long a change takes to check and to test, by crate
build-times:
	bench/build_times.py

## soak: a router under load, floods, flapping links and configuration changes for ten minutes: its ledger
soak: hopwright interop-tools
	bench/soak.py --seconds 600

## test-layouts: the SCION border router in pipes of a switch chip: every layout forwards as the plain router does
test-layouts: hopwright interop-tools
	$(CARGO) test --workspace --profile bench --test it -- --ignored layouts
	for layout in 1br 1br+1aes 1br+2aes 2br+2aes; do \
	  tests/interop/braccept.py --plain --router "hopwright+layout=$$layout" || exit 1; \
	  tests/interop/network_test.py --router "hopwright+layout=$$layout" || exit 1; \
	done

## test-isolation: what a hostile tenant costs the others; needs a machine that does nothing else
test-isolation: hopwright p4runtime-clients
	tests/switch/isolation.sh --short --any-latency
