// Equal-cost paths: the route leads to a group of next hops, and a hash of the flow picks one.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct meta_t {}

#include "ipv4.p4"

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action_selector(HashAlgorithm.crc16, 32w4096, 32w16) paths;

    action drop() {
        mark_to_drop(std);
    }
    action next_hop(port_t port, mac_t src, mac_t dst) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        std.egress_spec = port;
    }
    table routes {
        key = {
            hdr.ipv4.dst: lpm;
            hdr.ipv4.src: selector;
            hdr.ipv4.dst: selector;
            hdr.ipv4.protocol: selector;
            hdr.ports.src: selector;
            hdr.ports.dst: selector;
        }
        actions = { next_hop; drop; }
        implementation = paths;
        size = 1048576;
    }
    apply {
        if (hdr.ports.isValid() && hdr.ipv4.ttl > 1 && std.checksum_error == 0) {
            routes.apply();
        } else {
            drop();
        }
    }
}

#include "tail.p4"
