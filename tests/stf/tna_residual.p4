// `subtract_all_and_deposit`: headers that the parser extracts later are subtracted from what it deposits, too. The checksum is that of all, as a sender
// computes it, although the program knows the payload by the residual only.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<16> checksum;
    bit<16> first;           // written
}

header word_t {
    bit<16> kind;            // 1: a further word
}

struct headers_t {
    data_t    data;
    word_t    alone;
    word_t[3] words;
}

struct metadata_t {
    bit<16> residual;
}

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() sum;
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        sum.subtract({ hdr.data.checksum, hdr.data.first });
        sum.subtract_all_and_deposit(md.residual);
        transition select(hdr.data.first) {
            0: accept;
            default: alone;
        }
    }
    state alone {
        pkt.extract(hdr.alone);
        transition select(hdr.alone.kind) {
            1: words;
            default: accept;
        }
    }
    state words {
        pkt.extract(hdr.words.next);
        transition select(hdr.words.last.kind) {
            1: words;
            default: accept;
        }
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        // Its bits may be written one by one.
        ig_tm_md.ucast_egress_port[1:1] = 1;
        hdr.data.checksum = md.residual;
    }
}

#include "frame/tna.p4"
