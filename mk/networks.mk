### Tests with networks of namespaces (root)

.PHONY: p4runtime p4runtime-clients test-page test-bfruntime test-thrift test-switchblade test-rina test-switch test-agent test-four-routers four-routers-clients \
  test-openflow tutorial test-int test-epic test-ip test-ip-links test-tcp test-bmv2 test-tutorials test-management

## p4runtime: the P4Runtime service as finsy, p4runtime-shell and our own command see it
p4runtime: hopwright p4runtime-clients
	tests/p4runtime/run.sh

p4runtime-clients:
	tests/p4runtime/setup.sh

## test-int: routers with in-band telemetry in a row, for v1model and for Tofino, switches with ID-INT between SCION border routers, and their collector
test-int: hopwright interop-tools
	tests/int/run.sh

## test-thrift: the Thrift interface as BMv2's simple_switch_CLI sees it
test-thrift: hopwright
	tests/thrift/setup.sh
	tests/thrift/run.sh

## test-page: the page of a switch and the playground, in a browser without a window
test-page: hopwright
	tests/page/setup.sh
	tests/page/run.sh

## test-bfruntime: the BfRuntime service as a controller of a Tofino program sees it
test-bfruntime: hopwright
	tests/bfruntime/setup.sh
	tests/bfruntime/run.sh
	tests/tutorial/run.sh docs/tofino-migrate.md

## test-tutorials: all exercises of p4lang's tutorials in Mininet, and their PTF tests (root)
test-tutorials: hopwright p4runtime-clients
	tests/bmv2/setup.sh
	python3 tests/bmv2/tutorials_test.py

## test-bmv2: the names of BMv2 and p4c: compilers, switches, exercises of p4lang's tutorials in Mininet
test-bmv2: hopwright p4runtime-clients
	tests/bmv2/setup.sh
	tests/bmv2/run.sh

## test-switchblade: the SwitchBlade platform: its protocols, and flows that a handler process decides
test-switchblade: hopwright p4runtime-clients
	tests/switchblade/run.sh

## test-rina: the RINA interior router, both engines on generated PDUs; a leaf-spine that configures itself; switches elsewhere; C programs (RLITE=FOLDER: rlite's); a member that says what IRATI says (IRATI=FOLDER: its source)
test-rina: hopwright rina-api
	tests/rina/setup.sh
	tests/rina/run.sh
	tests/rina/network_test.py
	tests/rina/border_test.py
	tests/rina/driven_test.py
	tests/rina/dialects_test.py
	RLITE=$(RLITE) tests/rina/api_test.py
	$(if $(IRATI),tests/packages.sh protoc:protobuf-compiler && tests/rina/.venv/bin/python tests/rina/irati_test.py $(IRATI))
	tests/rina/.venv/bin/python tests/rina/dissector_test.py
	bench/congestion.py --seconds 3 --warm-up 2 --check
	tests/tutorial/run.sh docs/rina.md

## test-switch: tenants on one switch; docs/switch.md typed
test-switch: hopwright p4runtime-clients
	tests/switch/run.sh
	tests/tutorial/run.sh docs/switch.md

## test-agent: the examples of agents of one's own, as tenants and alone
# Built with the features of the whole workspace, as the tests are.
test-agent:
	$(CARGO) build --workspace --profile bench --example arp_responder --example echo_responder
	cd tests/switch && unshare --net sh -c 'ip link set lo up; exec ./agent_test.py'

## test-four-routers: four routers on one switch, with FRR, BIRD, finsy and os-ken as control planes
test-four-routers: hopwright four-routers-clients
	tests/switch/four_routers.py

four-routers-clients: p4runtime-clients
	tests/ip/setup.sh
	tests/openflow/setup.sh

## test-openflow: os-ken and ovs-ofctl with our switch, and controllers that misbehave
# The same tests of Open vSwitch are in test-long.
test-openflow: hopwright
	tests/openflow/setup.sh
	tests/openflow/run.sh

## test-management: gNMI with pygnmi and OpenConfig's client, SNMP with net-snmp's agent and tools, sFlow with nfdump's collector
test-management: hopwright
	tests/management/setup.sh
	tests/management/run.sh

## tutorial: types docs/tutorial.md
tutorial: hopwright
	tests/tutorial/setup.sh
	tests/tutorial/run.sh

## test-epic: five EPIC routers, for v1model and for Tofino; then one misbehaves, and is caught
test-epic: hopwright
	tests/epic/same_answers_test.py
	tests/epic/network_test.py

## test-tcp: TCP and segmented UDP over veth pairs with all offloads on, through each kind of switch
test-tcp: hopwright
	tests/packages.sh ovs-ofctl:openvswitch-common ip:iproute2 ping:iputils-ping
	tests/tcp/tcp_test.py

## test-ip: IP routers, driven by FRR and BIRD, and beside a Linux router; docs/ip-router.md typed
test-ip: hopwright
	tests/ip/setup.sh
	tests/ip/network_test.py
	tests/ip/lab_test.py --part 4 --count 20
	tests/ip/with_links.py --here tests/ip/lab_test.py --only VLANs --only VRFs --part 5 --seed 3 --count 4 --step 2
	tests/ip/carrier_test.py
	tests/tutorial/run.sh docs/ip-router.md

## test-ip-links: VLANs and VRFs beside a Linux router, in a virtual machine where this kernel has none; a quarter of an hour
test-ip-links: hopwright
	tests/ip/with_links.py --has-links || tests/packages.sh qemu-system-x86_64:qemu-system-x86 depmod:kmod cpio:cpio busybox:busybox-static
	tests/ip/with_links.py tests/ip/lab_test.py --only VLANs --only VRFs --seed 3 --count 12 --step 2

### SCION with the reference's routers, hosts and tools (root)

.PHONY: interop braccept test-authentication test-monitoring test-releases test-pages test-starts test-operation test-network network-ours network-mixed network-tap network-jumbo network-mixes network-workers \
  test-migrate test-reload test-take-over test-agents-take-over test-tenant test-hosts test-local-topology test-underlay soak-short

## interop: all of the following, after the build
interop:
	tests/run.py --only network-ours network-mixed network-tap network-jumbo network-mixes network-workers test-migrate test-reload \
	  test-starts test-operation test-authentication \
	  test-tenant test-hosts test-local-topology test-underlay test-pages braccept soak-short

## braccept: the reference's acceptance tool, on each kind of port and as a tenant
braccept: hopwright interop-tools
	tests/interop/braccept.py --plain --router "$(ROUTER)"
	tests/interop/braccept.py --plain --router "hopwright+ports=af_xdp+cpus=[0,0]"
	tests/interop/braccept.py --plain --router tenant
	tests/interop/braccept.py --bfd --router "$(ROUTER)"

## test-pages: metrics and status pages against the reference's
test-pages: hopwright interop-tools
	tests/interop/pages_test.py --router "$(ROUTER)"

## test-monitoring: alert rules and dashboard with Prometheus and a router with faults
test-monitoring: hopwright
	tests/monitoring/setup.sh
	tests/monitoring/monitoring_test.py

## test-releases: routers, hosts and tools of each later release of the reference
# A release has a file of modules in tests/interop; `make test` has the oldest one.
RELEASES := $(patsubst tests/interop/%.mod,%,$(wildcard tests/interop/v*.mod))
test-releases: hopwright
	for release in $(RELEASES); do \
	  $(MAKE) REFERENCE=$$release network-ours network-mixed network-mixes test-authentication test-pages test-starts braccept || exit 1; \
	done

## test-starts: files that the reference starts with, and those that ours starts with
test-starts: hopwright interop-tools
	tests/interop/starts_test.py

## test-operation: STUN from behind a NAT, an address that is missing, a full egress queue, signals and state
test-operation: hopwright interop-tools
	tests/interop/operation_test.py

## test-authentication: SCMP messages authenticated by DRKeys of the reference's control services
test-authentication: hopwright interop-tools
	tests/interop/authentication_test.py

## test-network: a whole network, with our routers everywhere and next to the reference's; its parts follow
test-network: network-ours network-mixed network-tap network-jumbo network-mixes network-workers

## network-ours: every router ours
network-ours: hopwright interop-tools
	tests/interop/network_test.py --router "$(ROUTER)"

## network-mixed: two routers are the reference's
network-mixed: hopwright interop-tools
	tests/interop/network_test.py --router "$(ROUTER)" --reference br110b,br111

## network-tap: the reference's router has the slow path behind TAP devices
network-tap: hopwright interop-tools
	tests/interop/network_test.py --router hopwright+slow_path=tap+ports=af_packet --reference br110b

## network-jumbo: an MTU of 9,000 bytes
network-jumbo: hopwright interop-tools
	tests/interop/network_test.py --router "$(ROUTER)" --mtu 9000

## network-mixes: every mix of our routers and the reference's
network-mixes: hopwright interop-tools
	tests/interop/network_test.py --router "$(ROUTER)" --mixes

## network-workers: two workers on one CPU, batches of one packet; workers that share a link
network-workers: hopwright interop-tools
	tests/interop/workers_test.py
	tests/interop/network_test.py --router "hopwright+ports=af_packet+cpus=[0,0]+batch=1"

## test-migrate: one router becomes ours and the reference's again, as docs/migrate.md has it
test-migrate: hopwright interop-tools
	tests/interop/migrate_test.py

## test-reload: a router's configuration changes under traffic
test-reload: hopwright
	tests/interop/reload_test.py

## test-take-over: a SCION router is replaced again and again under traffic between reference routers; alone, because BFD measures time
test-take-over: hopwright interop-tools test-agents-take-over
	tests/interop/take_over_test.py

## test-agents-take-over: an IP router between FRR's daemons, an OpenFlow switch, and a switch with tenants are replaced and restarted again and again under traffic
test-agents-take-over: hopwright
	tests/packages.sh zebra:frr ovs-ofctl:openvswitch-common ip:iproute2 curl:curl
	tests/take_over/take_over_test.py
	tests/take_over/restart_test.py

## test-tenant: a router that is a tenant of a switch
test-tenant: hopwright
	tests/interop/tenant_test.py

## test-hosts: a router is flooded with packets to very many hosts, and must reach a new one
test-hosts: hopwright
	tests/interop/hosts_test.py

## test-local-topology: the reference's local topology on loopback addresses, with every mix of routers
test-local-topology: hopwright interop-tools
	tests/interop/local_topology_test.py --mixes --router "$(ROUTER)"

## test-underlay: kinds of underlay and what happens to them, the reference's router beside ours
test-underlay: hopwright interop-tools
	tests/interop/underlay_test.py --short --router "$(ROUTER)"

## soak-short: twenty seconds of `make soak`
soak-short: hopwright interop-tools
	bench/soak.py --seconds 20 --may-starve
