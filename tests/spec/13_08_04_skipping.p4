// Section 13.8.4: bits are skipped by extraction into `_`, and by `advance`; beyond the end both are errors.

#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> kind;
    bit<8> amount;
}

header three_t {
    bit<24> x;
}

header rest_t {
    bit<8> x;
}

struct headers_t {
    kind_t kind;
    rest_t rest;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: by_extract;
            default: by_advance;
        }
    }

    state by_extract {
        packet.extract<three_t>(_);
        transition rest;
    }

    state by_advance {
        packet.advance(((bit<32>) hdr.kind.amount) << 3);
        transition rest;
    }

    state rest {
        packet.extract(hdr.rest);
        transition accept;
    }
}

#include "frame/parsed.p4"
