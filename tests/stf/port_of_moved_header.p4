// The port is a field of a header that has moved by the time the packet is sent.

#include <core.p4>
#include <v1model.p4>

header tag_t {
    bit<8> port;
    bit<8> size;
}

header more_t {
    bit<40> bytes;
}

struct headers_t {
    more_t more;
    tag_t  first;
    tag_t  second;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.second);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action nothing() {}

    action shorter() {
        hdr.first.setInvalid();
    }

    action longer() {
        hdr.more.setValid();
    }

    table change {
        key = { hdr.first.size : exact; }
        actions = { nothing; shorter; longer; }
        default_action = nothing();
        const entries = {
            1: shorter();
            2: longer();
        }
    }

    apply {
        std.egress_spec = (bit<9>)hdr.second.port & 7;
        change.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.second);
        packet.emit(hdr.more);
        packet.emit(hdr.first);
    }
}

#include "frame/pipeline.p4"
