// Elements of a stack that are extracted from port metadata, and from them and the packet behind them.

#include <core.p4>
#include <tna.p4>

header word_t {
    bit<24> value;
}

header rest_t {
    bit<8> count;            // written
}

struct headers_t {
    word_t[4] words;
    rest_t    rest;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        transition select(ig_intr_md.ingress_port) {
            4: four;
            5: five;
            default: three;
        }
    }
    // 64 bits of port metadata are two elements and a part of one; the rest of it comes from the packet.
    state three {
        pkt.extract(hdr.words.next);
        pkt.extract(hdr.words.next);
        pkt.extract(hdr.words.next);
        transition rest;
    }
    state four {
        pkt.extract(hdr.words.next);
        pkt.extract(hdr.words.next);
        pkt.extract(hdr.words.next);
        pkt.extract(hdr.words.next);
        transition rest;
    }
    state five {
        pkt.extract(hdr.words.next);
        pkt.extract(hdr.words[1]);
        pkt.extract(hdr.words.next);
        transition rest;
    }
    state rest {
        pkt.extract(hdr.rest);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = 2;
        hdr.rest.count = 0;
        if (hdr.words[0].isValid()) { hdr.rest.count = hdr.rest.count + 1; }
        if (hdr.words[1].isValid()) { hdr.rest.count = hdr.rest.count + 1; }
        if (hdr.words[2].isValid()) { hdr.rest.count = hdr.rest.count + 1; }
        if (hdr.words[3].isValid()) { hdr.rest.count = hdr.rest.count + 1; }
    }
}

#include "frame/tna.p4"
