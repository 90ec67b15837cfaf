# The commands of the checkout. `make demo` shows Hopwright at work, `make test`
# checks everything. Parts that build networks of namespaces need root.

CARGO ?= cargo
# Which border router the interoperability targets exercise: hopwright,
# reference, or a command line with {config} in it.
ROUTER ?= hopwright
ROOT := $(filter 0,$(shell id -u))

.PHONY: demo demo-switch test prepare checks compile tools computing waiting alone lint unit docs stf p4runtime p4runtime-clients test-bfruntime test-ip test-epic test-openflow test-switch test-four-routers test-switchblade tutorial interop interop-tools braccept test-pages test-migrate test-network test-reload test-tenant test-hosts test-underlay test-local-topology test-long soak-short soak bench bench-long bench-brload hopwright dist install test-dist

demo: hopwright interop-tools
	python3 demo/network.py demo --router "$(ROUTER)"

# A leaf-spine of RINA routers and hosts: enrollment, routes, flows, and a spine that dies.
.PHONY: demo-rina
demo-rina: hopwright
	demo/rina.py

# The network with a router whose data plane is simulated hardware: the pipeline, what crosses it, and what that means on a chip.
.PHONY: demo-fpga
demo-fpga: hopwright interop-tools
	@command -v verilator >/dev/null || tests/rtl/setup.sh
	$(TARGET)/release/hopwright rtl p4/scion/border_router.p4 --simulation
	python3 demo/network.py demo --hardware br111 --packets 200

# Everything CI checks. The command is built first, while packages are installed. Tests with networks of namespaces mostly
# wait: four run side by side, each printing its output when it ends, and what is left to compile is compiled in the time
# that they leave. Tests that compute come next. A router under load, and one that has to answer within the 250 ms that
# braccept waits, has the machine to itself.
test:
	$(MAKE) --jobs=2 --output-sync=line prepare
	$(MAKE) --jobs=5 --output-sync=target checks waiting
	$(MAKE) --jobs=2 --output-sync=target computing
	$(MAKE) alone

prepare: hopwright tools

computing: unit docs stf test-dist test-rtl

# Runs a command only while a CPU has nothing else to do.
IDLE := $(shell chrt --idle 0 true 2>/dev/null && echo chrt --idle 0)

# What Cargo checks and compiles beside networks; not while it builds the command for them.
checks: | hopwright
	$(IDLE) $(MAKE) compile

# Cargo's commands in one row: side by side they would wait for each other.
compile: | lint
	$(CARGO) test --workspace --profile bench --no-run

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile bench -- -D warnings

unit:
	tests/rust_tests.py
	cd tests/interop && python3 -m unittest -q braccept_test
	tests/stf/widths.py --check
	p4/epic/sem_tables.py --check
	p4/tofino/t_table.py --check
	cd tests/docs && python3 -m unittest -q dependencies_test links_test security_test

# The commands that the documentation names: their flags, their targets, the tests they match.
docs: hopwright
	cd tests/docs && python3 -m unittest -q commands_test

# Packet tests, with both engines, through the command.
stf: hopwright
	tests/stf/run.sh

# What the hardware targets need: verilator, and yosys, nextpnr and solvers in a virtual environment.
.PHONY: fpga-tools
fpga-tools:
	tests/rtl/setup.sh

# The hardware engines, each against a model of what it should do; small designs against the interpreter, with random initial
# values, gaps and back-pressure, and while tables change. Whole designs are clean for verilator and yosys.
.PHONY: test-rtl
test-rtl: hopwright
	tests/rtl/run.sh
	tests/rtl/.venv/bin/python tests/rtl/designs.py
	$(CARGO) test --workspace --profile bench --test it -- --ignored _agrees _atomic

# Proofs, without bound, that skid buffers, FIFOs and arbiters lose, duplicate and reorder nothing.
.PHONY: formal-rtl
formal-rtl: fpga-tools
	tests/rtl/.venv/bin/python tests/rtl/formal.py

# What the hardware engines and whole designs take and reach on an ECP5: the tables of docs/fpga.md. Takes hours.
.PHONY: synthesis-rtl
synthesis-rtl: fpga-tools
	tests/rtl/.venv/bin/python tests/rtl/synthesis.py
	$(CARGO) build --release -p hopwright
	tests/rtl/.venv/bin/python tests/rtl/programs.py

ifneq ($(ROOT),)
# Four routers on one switch: who talks to whom, what happens when one changes, figures by tenant.
demo-switch: hopwright four-routers-clients
	tests/switch/four_routers.py demo

# One after the other: packages are installed by one at a time.
tools:
	tests/tutorial/setup.sh
	tests/p4runtime/setup.sh
	tests/bfruntime/setup.sh
	tests/ip/setup.sh
	tests/openflow/setup.sh
	tests/rina/setup.sh
	tests/rtl/setup.sh

# Networks wait for the reference's tools, the checks for nothing: the tools come first.
checks: | interop-tools

# Those that take longest start first.
waiting: network-mixes test-underlay p4runtime test-bfruntime test-switchblade test-rina test-ip test-epic test-openflow test-switch test-four-routers tutorial side-by-side

alone: braccept soak-short

# P4Runtime as finsy and p4runtime-shell see it.
p4runtime: hopwright p4runtime-clients
	tests/p4runtime/run.sh

p4runtime-clients:
	tests/p4runtime/setup.sh

# The BfRuntime service as a controller of a Tofino program sees it.
test-bfruntime: hopwright
	tests/bfruntime/setup.sh
	tests/bfruntime/run.sh
	tests/tutorial/run.sh docs/tofino-migrate.md

# The SwitchBlade platform with real packets: its protocols, and flows that a handler process decides.
test-switchblade: hopwright p4runtime-clients
	tests/switchblade/run.sh

# The RINA interior router with Scapy and p4runtime-shell, both engines on generated PDUs; a leaf-spine that configures itself.
.PHONY: test-rina
test-rina: hopwright
	tests/rina/setup.sh
	tests/rina/run.sh
	tests/rina/network_test.py
	tests/rina/border_test.py
	bench/congestion.py --seconds 3 --warm-up 2 --check
	tests/tutorial/run.sh docs/rina.md

# Tenants on one switch, and docs/switch.md typed.
test-switch: hopwright p4runtime-clients
	tests/switch/run.sh
	tests/tutorial/run.sh docs/switch.md

# What a hostile tenant costs the others, for a machine that does nothing else; test-long judges latency, too.
.PHONY: test-isolation
test-isolation: hopwright p4runtime-clients
	tests/switch/isolation.sh --short --any-latency

# Four routers on one switch, with FRR, BIRD, finsy and os-ken as control planes.
test-four-routers: hopwright four-routers-clients
	tests/switch/four_routers.py

.PHONY: four-routers-clients
four-routers-clients: p4runtime-clients
	tests/ip/setup.sh
	tests/openflow/setup.sh

# os-ken and ovs-ofctl with our switch, and controllers that misbehave. The same tests of Open vSwitch are in test-long.
test-openflow: hopwright
	tests/openflow/setup.sh
	tests/openflow/run.sh

# Types docs/tutorial.md.
tutorial: hopwright
	tests/tutorial/setup.sh
	tests/tutorial/run.sh

# Five EPIC routers; then one misbehaves, and is caught.
test-epic: hopwright
	tests/epic/network_test.py

# IP routers, driven by FRR and BIRD, and docs/ip-router.md typed.
test-ip: hopwright
	tests/ip/setup.sh
	tests/ip/network_test.py
	tests/tutorial/run.sh docs/ip-router.md

interop:
	$(MAKE) --jobs=4 --output-sync=target side-by-side
	$(MAKE) alone
else
# Rust tests that open packet sockets or network namespaces fail without root, unless they are told to be skipped.
export HOPWRIGHT_SKIP_PRIVILEGED_TESTS := 1

tools:

demo-switch:
	@echo "make demo-switch needs root: it creates network namespaces." >&2; exit 1

waiting alone p4runtime test-bfruntime test-ip test-epic test-openflow test-switch test-isolation test-four-routers test-switchblade test-rina tutorial interop:
	@echo "==================================================================" >&2
	@echo "SKIPPED: Rust tests of packet sockets and devices, p4runtime, test-bfruntime, test-ip, test-epic, test-openflow, test-switch, test-four-routers, test-switchblade, tutorial, braccept, test-pages, test-migrate, test-network, test-local-topology, test-reload, test-tenant, test-hosts, test-underlay and soak-short need root (network namespaces)." >&2
	@echo "Run \`sudo make test\` to run them." >&2
	@echo "==================================================================" >&2
endif

# The release build of our router; nothing to build for another router.
hopwright:
ifeq ($(ROUTER),hopwright)
	$(CARGO) build --release -p hopwright
endif

# What is installed: the command without debug information, and that in a file beside it.
TARGET := $(or $(CARGO_TARGET_DIR),target)
dist: hopwright
	packaging/dist.sh $(TARGET)/release/hopwright $(TARGET)/dist

PREFIX ?= /usr
install: dist
	install -D -m 755 $(TARGET)/dist/hopwright $(DESTDIR)$(PREFIX)/bin/hopwright
	install -D -m 644 $(TARGET)/dist/hopwright.debug $(DESTDIR)/usr/lib/debug$(PREFIX)/bin/hopwright.debug
	for unit in hopwright-router@.service hopwright-switch.service hopwright-rina@.service; do \
		install -D -m 644 packaging/$$unit $(DESTDIR)/etc/systemd/system/$$unit || exit; done

test-dist: hopwright
	tests/packaging/dist_test.py

# The reference's tools, from the Go module pinned in tests/interop/go.mod.
interop-tools:
	tests/interop/setup.sh
	$(IDLE) tests/interop/tools.sh

# The reference's acceptance tool.
braccept: hopwright interop-tools
	tests/interop/braccept.py --plain --router "$(ROUTER)"
	tests/interop/braccept.py --plain --router "hopwright+ports=af_xdp+cpus=[0,0]"
	tests/interop/braccept.py --plain --router tenant
	tests/interop/braccept.py --bfd --router "$(ROUTER)"

# Metrics and status pages against the reference's.
test-pages: hopwright interop-tools
	tests/interop/pages_test.py --router "$(ROUTER)"

# A whole SCION network, with our routers everywhere and next to the reference's.
NETWORKS := network-ours network-mixed network-tap network-jumbo network-mixes network-workers
.PHONY: $(NETWORKS) side-by-side
test-network: $(NETWORKS)
$(NETWORKS): hopwright interop-tools
network-ours:
	tests/interop/network_test.py --router "$(ROUTER)"
network-mixed:
	tests/interop/network_test.py --router "$(ROUTER)" --reference br110b,br111 --offloads
network-tap:
	tests/interop/network_test.py --router hopwright+slow_path=tap+ports=af_packet --reference br110b --offloads
network-jumbo:
	tests/interop/network_test.py --router "$(ROUTER)" --mtu 9000
network-mixes:
	tests/interop/network_test.py --router "$(ROUTER)" --mixes
network-workers:
	tests/interop/network_test.py --router "hopwright+ports=af_packet+cpus=[0,0]+batch=1"

side-by-side: network-mixes test-underlay test-reload test-hosts test-tenant test-migrate test-pages test-local-topology $(filter-out network-mixes,$(NETWORKS))

# One router becomes ours and the reference's again, as docs/migrate.md has it.
test-migrate: hopwright interop-tools
	tests/interop/migrate_test.py

# A router's configuration changes under traffic.
test-reload: hopwright
	tests/interop/reload_test.py

# A router that is a tenant of a switch.
test-tenant: hopwright
	tests/interop/tenant_test.py

# A router is flooded with packets to very many hosts, and must reach a new one.
test-hosts: hopwright
	tests/interop/hosts_test.py

# The reference's local topology, every router on loopback addresses of one machine, with every mix of routers.
test-local-topology: hopwright interop-tools
	tests/interop/local_topology_test.py --mixes --router "$(ROUTER)"

# Kinds of underlay and what happens to them, the reference's router beside ours: the most important part.
test-underlay: hopwright interop-tools
	tests/interop/underlay_test.py --short --router "$(ROUTER)"

# Simulated hardware at length: all packet tests, a million SCION packets, and the border router in a network. Some hours.
.PHONY: test-rtl-long braccept-rtl
test-rtl-long: braccept-rtl
	tests/rtl/.venv/bin/python tests/rtl/designs.py validator-ecp5 scion-ecp5
	$(CARGO) test --workspace --profile bench --test it -- --ignored the_documentation_says
	HOPWRIGHT_STF=all HOPWRIGHT_SEEDS=0..500 HOPWRIGHT_PACKETS=500000 $(CARGO) test --workspace --profile bench --test it simulation -- --ignored
	HOPWRIGHT_HARDWARE=1 python3 tests/rina/engines_test.py -k hardware

# The reference's acceptance tool and a whole network with our router's data plane in simulated hardware, which is built first; the network
# again with hardware that runs part of the program; the cycles of packets back to back.
PART := -D NO_EPIC -D NO_OTHER_KEYS -D PROFILE_ULTRASCALE
braccept-rtl: hopwright interop-tools
	$(TARGET)/release/hopwright rtl p4/scion/border_router.p4 --simulation
	tests/interop/braccept.py --plain --router "hopwright+engine=rtl"
	tests/interop/network_test.py --hardware br111
	$(TARGET)/release/hopwright rtl p4/scion/border_router.p4 $(PART) --simulation
	tests/interop/network_test.py --hardware br111 $(PART)
	python3 tests/rtl/line_rate.py

# What takes longer than CI has time for: about an hour, and simulated hardware.
test-long: hopwright interop-tools
	$(MAKE) test-rtl-long test-layouts
	tests/interop/underlay_test.py --router "$(ROUTER)"
	tests/interop/underlay_test.py --router "hopwright+ports=af_packet"
	tests/openflow/setup.sh
	tests/openflow/run.sh peer
	tests/ip/setup.sh
	tests/ip/network_test.py --only many_routes --routes 1000000
	tests/p4runtime/setup.sh
	tests/switch/isolation.sh
	bench/congestion.py --check --goodput 0.95
	bench/rina.py --check
	$(MAKE) soak

# The SCION border router in pipes of a switch chip: every layout forwards as the plain router does.
.PHONY: test-layouts
test-layouts: hopwright interop-tools
	$(CARGO) test --workspace --profile bench --test it -- --ignored layouts
	for layout in 1br 1br+1aes 1br+2aes 2br+2aes; do \
	  tests/interop/braccept.py --plain --router "hopwright+layout=$$layout" || exit 1; \
	  tests/interop/network_test.py --router "hopwright+layout=$$layout" || exit 1; \
	done

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

bench-long: hopwright interop-tools p4runtime-clients
	tests/openflow/setup.sh
	bench/setup.sh
	bench/run.py --long

# The reference's load generator against both routers; figures, not a test.
bench-brload: hopwright interop-tools
	bench/brload.sh
