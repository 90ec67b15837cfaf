// Access control: five fields matched by value and mask; the rule with the highest priority permits or denies.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

#ifndef RULES
#define RULES 16384
#endif

struct meta_t {}

#include "ipv4.p4"

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action deny() {
        mark_to_drop(std);
    }
    action permit(port_t port) {
        std.egress_spec = port;
    }
    table rules {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.src: ternary;
            hdr.ports.dst: ternary;
        }
        actions = { permit; deny; }
        default_action = deny();
        size = RULES;
    }
    apply {
        if (hdr.ports.isValid() && std.checksum_error == 0) {
            rules.apply();
        } else {
            deny();
        }
    }
}

#include "tail.p4"
