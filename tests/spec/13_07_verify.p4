// Section 13.7: `verify` ends the parser with an error of the program or of the core library; what was done before stays.

#include <core.p4>
#include <v1model.p4>

error { Odd, Large }

header data_t {
    bit<8> x;
    bit<8> trace;
}

header more_t {
    bit<8> x;
}

struct headers_t {
    data_t data;
    more_t more;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        hdr.data.trace = 1;
        verify(hdr.data.x[0:0] == 0, error.Odd);
        hdr.data.trace = 2;
        verify(hdr.data.x != 2, error.NoMatch);
        verify(hdr.data.x < 0x80, hdr.data.x == 0x80 ? error.HeaderTooShort : error.Large);
        hdr.data.trace = 3;
        packet.extract(hdr.more);
        transition accept;
    }
}

#include "frame/parsed.p4"
