// An IPv4 router: header checksum verified and updated, TTL, longest-prefix match, next hop's addresses.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct meta_t {}

#include "ipv4.p4"

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
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
        key = { hdr.ipv4.dst: lpm; }
        actions = { next_hop; drop; }
        default_action = drop();
        size = 1048576;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl > 1
                && std.checksum_error == 0) {
            routes.apply();
        } else {
            drop();
        }
    }
}

#include "tail.p4"
