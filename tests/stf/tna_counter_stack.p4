// The parser counters of Tofino 2 are stacks: options with lengths of their own within a length of all, and within an option.

#include <core.p4>
#include <t2na.p4>

header option_t {
    bit<8> kind;             // 1: two bytes of data, which are kept; otherwise a number of bytes follows
}

header length_t {
    bit<8> bytes;
}

header data_t {
    bit<16> value;
}

header end_t {
    bit<8> value;            // written: 0xee
}

struct headers_t {
    length_t all;
    data_t   data;
    end_t    end;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    ParserCounter() left;
    option_t option;
    length_t length;

    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.all);
        left.set(hdr.all.bytes);
        transition next;
    }
    state next {
        transition select(left.is_zero()) {
            true: end;
            false: option_or_data;
        }
    }
    state option_or_data {
        pkt.extract(option);
        left.decrement(1);
        transition select(option.kind) {
            1: data;
            2: alone;
            0x33: deep;
            default: skipped;
        }
    }
    state data {
        pkt.extract(hdr.data);
        left.decrement(2);
        transition next;
    }
    // What is below counts with the top.
    state skipped {
        pkt.extract(length);
        left.decrement(1);
        left.push(length.bytes, true);
        transition skip;
    }
    // What is below does not: it is counted afterwards.
    state alone {
        pkt.extract(length);
        left.push(length.bytes, 255, 0, 255, 0);
        transition select(left.is_zero()) {
            true: alone_done;
            false: alone_byte;
        }
    }
    state alone_byte {
        pkt.advance(8);
        left.decrement(1);
        transition select(left.is_zero()) {
            true: alone_done;
            false: alone_byte;
        }
    }
    state alone_done {
        left.pop();
        left.decrement(length.bytes);
        left.decrement(1);
        transition next;
    }
    state skip {
        transition select(left.is_zero()) {
            true: skip_done;
            false: skip_byte;
        }
    }
    state skip_byte {
        pkt.advance(8);
        left.decrement(1);
        transition skip;
    }
    state skip_done {
        left.pop();
        transition next;
    }
    // More than the stack holds.
    state deep {
        left.push(8w5);
        left.push(8w6);
        left.push(8w7);
        left.push(8w8);
        left.push(8w9);
        transition end;
    }
    state end {
        pkt.extract(hdr.end);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = 2;
        hdr.end.value = 0xee;
    }
}

#include "frame/tna.p4"
