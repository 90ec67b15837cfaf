// From the number of a next hop, or of a group of equal-cost ones, to the egress interface and the neighbour's address.

// Ports that have entries in `redirects`.
#define REDIRECTING_PORTS 512

// Next hops and neighbours there can be, and groups.
#define NEXT_HOPS 65536
#define GROUPS 4096
// Next hops in all groups together.
#define MEMBERS 65536

// Fibonacci hashing: 2^32 divided by the golden ratio, odd.
const bit<32> SPREAD = 0x9e3779b1;

control NextHops(inout meta_t meta, in standard_metadata_t std) {
    // The agent gives each next hop a member of the same number; the flow's hash picks one of the group, by weight.
    action_selector(HashAlgorithm.identity, MEMBERS, 16) members;

    // By next hop.
    counter(NEXT_HOPS, CounterType.packets_and_bytes) next_hop_packets;

    action use(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action unreachable() {
        meta.reason = Reason.NO_ROUTE;
    }

    table groups {
        key = {
            meta.group: exact;
            meta.flow: selector;
        }
        actions = { use; @defaultonly unreachable; }
        default_action = unreachable();
        implementation = members;
        size = GROUPS;
    }

    action forward(bit<9> port, mac_t src, mac_t dst, bit<16> mtu) {
        meta.egress_port = port;
        meta.src = src;
        meta.dst = dst;
        meta.mtu = mtu;
    }

    // By a VLAN of the port.
    action forward_tagged(bit<9> port, bit<12> vlan, mac_t src, mac_t dst, bit<16> mtu) {
        forward(port, src, dst, mtu);
        meta.egress_vlan = vlan;
    }

    action resolve() {
        meta.reason = Reason.UNRESOLVED;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { forward; forward_tagged; resolve; }
        default_action = resolve();
        size = NEXT_HOPS;
    }

    action redirect() {
        meta.reason = Reason.REDIRECT;
    }

    // Packets that leave by the interface that they came by. The control plane gets those of which entries select the time, forwards
    // them, and tells their senders that the next hop is on their own link. There is no state: a port has one entry, for one in 256
    // moments.
    table redirects {
        key = {
            std.ingress_port: exact;
            std.ingress_global_timestamp: ternary;
        }
        actions = { redirect; @defaultonly NoAction; }
        default_action = NoAction();
        size = REDIRECTING_PORTS;
    }

    apply {
        if (meta.group != 0) {
            // A CRC is linear: another seed changes it by the same bits for all flows, and routers in a row would decide alike.
            // The upper half of a product is not.
            bit<32> product = (bit<32>) meta.flow * SPREAD;
            meta.flow = product[31:16];
            groups.apply();
        }
        if (meta.reason == Reason.FORWARDED) {
            next_hops.apply();
        }
        if (meta.reason == Reason.FORWARDED && meta.length > (bit<32>) meta.mtu) {
            meta.reason = Reason.TOO_BIG;
        }
        if (meta.reason == Reason.FORWARDED && meta.egress_port == std.ingress_port
            && meta.egress_vlan == meta.interface[11:0]) {
            redirects.apply();
        }
        if (meta.reason == Reason.FORWARDED) {
            next_hop_packets.count((bit<32>) meta.next_hop);
        }
    }
}
