// From the number of a next hop, or of a group of equal-cost ones, to the link, its way of carrying PDUs, and the
// neighbour's address.

// Next hops there can be, and groups.
#define NEXT_HOPS 65536
#define GROUPS 4096
// Next hops in all groups together.
#define MEMBERS 65536

// Fibonacci hashing: 2^32 divided by the golden ratio, odd.
const bit<32> SPREAD = 0x9e3779b1;

control NextHops(in headers_t hdr, inout meta_t meta) {
#ifndef NO_SELECTOR
    // The control plane gives each next hop a member of the same number; the flow's hash picks one of the group, by weight.
    action_selector(HashAlgorithm.identity, MEMBERS, 16) members;
#endif

    // By next hop.
    counter(NEXT_HOPS, CounterType.packets_and_bytes) next_hop_packets;

    action use(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action unreachable() {
        meta.reason = hdr.ipv4.isValid() ? Reason.NO_ROUTE : Reason.UNREACHABLE;
    }

    table groups {
        key = {
            meta.group: exact @name("group");
#ifdef NO_SELECTOR
            // A group is an entry for each of 64 hash values.
            meta.flow[5:0]: exact @name("slot");
#else
            meta.flow: selector @name("flow");
#endif
        }
        actions = { use; @defaultonly unreachable; }
        default_action = unreachable();
#ifdef NO_SELECTOR
        size = MEMBERS;
#else
        implementation = members;
        size = GROUPS;
#endif
    }

    // vlan 0: untagged. ttl and crc: whether PDUs in IRATI's syntax have them on this link. mtu: bytes behind the Ethernet
    // and VLAN headers.
    action forward(bit<9> port, bit<12> vlan, mac_t src, mac_t dst, bit<16> mtu, bit<1> ttl, bit<1> crc) {
        meta.egress_port = port;
        meta.next_vlan = vlan;
        meta.next_src = src;
        meta.next_dst = dst;
        meta.mtu = mtu;
        meta.next_ttl = ttl;
        meta.next_crc = crc;
    }

    action resolve() {
        meta.reason = Reason.UNRESOLVED;
    }

    table next_hops {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { forward; resolve; }
        default_action = resolve();
        size = NEXT_HOPS;
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
        if (meta.reason == Reason.FORWARDED) {
            if (hdr.irati.isValid()) {
                meta.length = (bit<32>) meta.pdu_bytes + (bit<32>) meta.next_ttl + ((bit<32>) meta.next_crc << 2);
                if (meta.next_crc == 1 && !hdr.crc.isValid()) {
                    meta.reason = Reason.UNPROTECTED;
                }
            } else if (hdr.efcp.isValid() || hdr.rlite.isValid()) {
                meta.length = (bit<32>) meta.pdu_bytes;
            }
        }
        if (meta.reason == Reason.FORWARDED && meta.length > (bit<32>) meta.mtu) {
            meta.reason = hdr.ipv4.isValid() ? Reason.TOO_BIG : Reason.TOO_LONG;
        }
        if (meta.reason == Reason.FORWARDED) {
            next_hop_packets.count((bit<32>) meta.next_hop);
        }
    }
}
