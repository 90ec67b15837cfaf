// Equal-cost paths: the route names a group of next hops, a hash of the flow picks one.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct meta_t {
    bit<16> group;
    bit<16> member;
}

#include "ipv4.p4"

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action to_group(bit<16> group, bit<16> members) {
        meta.group = group;
        hash(meta.member, HashAlgorithm.crc16, 16w0,
            { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, hdr.ports.src, hdr.ports.dst }, members);
    }
    action next_hop(port_t port, mac_t src, mac_t dst) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        std.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { to_group; drop; }
        default_action = drop();
        size = 1048576;
    }
    table members {
        key = {
            meta.group: exact;
            meta.member: exact;
        }
        actions = { next_hop; drop; }
        default_action = drop();
        size = 65536;
    }
    apply {
        if (hdr.ports.isValid() && hdr.ipv4.ttl > 1 && std.checksum_error == 0) {
            switch (routes.apply().action_run) {
                to_group: { members.apply(); }
            }
        } else {
            drop();
        }
    }
}

#include "tail.p4"
