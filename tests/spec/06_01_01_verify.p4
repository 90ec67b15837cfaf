// Section 6.1.1: `verify` in pseudocode: a false condition sets the error and ends the parser at once.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

struct headers_t {
    data_t first;
    data_t second;
}

struct meta_t { }

error { Odd }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        verify(hdr.first.x[0:0] == 0, error.Odd);
        packet.extract(hdr.second);
        hdr.second.x = hdr.second.x + 1;
        transition accept;
    }
}

#include "frame/parsed.p4"
