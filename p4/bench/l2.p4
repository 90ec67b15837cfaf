// A learning switch: what comes from an unknown address, or from a known one by another port, goes to the controller,
// who learns it; everything else goes where its destination was learned.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    port_t learned = CPU_PORT;

    action known(port_t port) {
        learned = port;
    }
    action forward(port_t port) {
        std.egress_spec = port;
    }
    action to_controller() {
        std.egress_spec = CPU_PORT;
    }
    table sources {
        key = { hdr.ethernet.src: exact; }
        actions = { known; NoAction; }
        default_action = NoAction();
        size = 1048576;
    }
    table destinations {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; to_controller; }
        default_action = to_controller();
        size = 1048576;
    }
    apply {
        sources.apply();
        if (learned == std.ingress_port) {
            destinations.apply();
        } else {
            to_controller();
        }
    }
}

#include "tail.p4"
