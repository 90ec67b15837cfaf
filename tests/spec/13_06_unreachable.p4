// Section 13.6: cases behind `default` are never reached, which is worth a warning.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> state;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.x) {
            1: one;
            default: accept;
            2: two;             //~ W0006
        }
    }

    state one { hdr.data.state = 1; transition accept; }
    state two { hdr.data.state = 2; transition accept; }
}

#include "frame/parsed.p4"
