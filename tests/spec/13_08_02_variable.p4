// Section 13.8.2: IPv4 in two headers, of which the second has the options; a size beyond the field's and a packet too short are
// errors.

#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<4>   version;
    bit<4>   ihl;
    bit<152> rest;
}

header options_t {
    varbit<64> options;
}

struct headers_t {
    ipv4_t    ipv4;
    options_t options;
}

struct meta_t { }

error { InvalidHeader }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.ihl >= 5, error.InvalidHeader);
        transition select(hdr.ipv4.ihl) {
            5: dispatch;
            _: options;
        }
    }

    state options {
        packet.extract(hdr.options, (bit<32>) (((bit<16>) hdr.ipv4.ihl - 5) * 32));
        hdr.ipv4.version = 0xf;
        transition dispatch;
    }

    state dispatch {
        transition accept;
    }
}

#include "frame/parsed.p4"
