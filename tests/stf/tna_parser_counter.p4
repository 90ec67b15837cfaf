// Parser counters of a Tofino have eight bits: they wrap, and are negative from 128 on.

#include <core.p4>
#include <tna.p4>

header first_t {
    bit<8> how;
    bit<8> length;
}

header word_t {
    bit<16> value;
}

header last_t {
    bit<8> value;
}

struct headers_t {
    first_t    first;
    word_t[10] words;
    last_t     last;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    ParserCounter() left;

    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.first);
        transition select(hdr.first.how) {
            0: words_of_four;
            1: below_zero;
            2: around;
            3: up;
            4: plain;
            5: wide;
            6: negative_part;
        }
    }
    // IPv4's idiom: four times the low bits, less a fixed part.
    state words_of_four {
        left.set(hdr.first.length, 15, 6, 0x7, -20);
        transition check;
    }
    // 3 - 4 is 255 and negative.
    state below_zero {
        left.set(8w3);
        left.decrement(4);
        transition select(left.is_negative(), left.is_zero()) {
            (true, false): last;
        }
    }
    // 255 + 1 + `length`
    state around {
        left.set(8w255);
        left.increment(1);
        left.increment(8w2);
        transition check;
    }
    state up {
        left.set(8w250);
        left.increment(8);
        transition check;
    }
    state plain {
        left.set(hdr.first.length);
        transition check;
    }
    // Only the lowest eight bits count.
    state wide {
        left.set(16w0x0104);
        transition check;
    }
    state negative_part {
        left.set(8w127);
        left.increment(1);
        transition select(left.is_negative()) {
            true: last;
        }
    }
    state check {
        transition select(left.is_zero()) {
            true: last;
            false: word;
        }
    }
    state word {
        pkt.extract(hdr.words.next);
        left.decrement(2);
        transition check;
    }
    state last {
        pkt.extract(hdr.last);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = 2;
        hdr.last.value = 0xee;
    }
}

#include "frame/tna.p4"
