// Section 13.6: sets that the control plane fills: of numbers, of a struct with a match kind for each field.
// Section 13.11: a value set with a size is declared in a parser, and is a case of a select.
// Section 18.3.1.1: the control plane calls a value set by its name.

#include <core.p4>
#include <v1model.p4>

struct key_t {
    @match(ternary)
    bit<16> port;
}

struct pair_t {
    @match(exact)
    bit<8>  proto;
    @match(lpm)
    bit<16> port;
}

header data_t {
    bit<8>  proto;
    bit<16> port;
    bit<8>  state;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) plain;
    value_set<key_t>(4) masked;
    value_set<pair_t>(4) pairs;

    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.port) {
            plain: one;
            masked: two;
            7: three;
            _: more;
        }
    }

    state more {
        transition select(hdr.data.proto, hdr.data.port) {
            pairs: four;
            (_, _): accept;
        }
    }

    state one { hdr.data.state = 1; transition accept; }
    state two { hdr.data.state = 2; transition accept; }
    state three { hdr.data.state = 3; transition accept; }
    state four { hdr.data.state = 4; transition accept; }
}

#include "frame/parsed.p4"
