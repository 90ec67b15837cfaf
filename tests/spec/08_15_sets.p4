// Section 8.15: a select goes to the first case whose set holds the value.
// Section 8.15.1: a number is a set of itself.
// Section 8.15.2: `_` and `default` hold every value.
// Section 8.15.3: a mask leaves bits open; both operands of `&&&` say what the others are.
// Section 8.15.4: a range holds both its ends; one whose second end is smaller is empty.
// Section 8.15.5: a product of sets holds tuples.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> state;
    bit<8> x;
    int<4> s;
    bit<4> n;
    bit<8> mark;
}

struct headers_t {
    data_t d;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.d);
        transition select(hdr.d.state) {
            1: singleton;
            2: masked;
            3: ranged;
            4: product;
            5: signed_;
            default: accept;
        }
    }

    state singleton {
        transition select(hdr.d.x) {
            4: mark1;
            8w5: mark2;
            _: mark3;
        }
    }

    state masked {
        transition select(hdr.d.x) {
            8w0x0A &&& 8w0x0F: mark1;
            0xF3 &&& 0x0F: mark2;
            0 &&& 0xFC: mark3;
            default: accept;
        }
    }

    state ranged {
        transition select(hdr.d.x) {
            9 .. 8: mark1;
            5 .. 8: mark2;
            8 .. 255: mark3;
            default: accept;
        }
    }

    state product {
        transition select(hdr.d.x, hdr.d.n) {
            (1, 4w0x5): mark1;
            (1 &&& 3, 6 .. 8): mark2;
            (_, 9): mark3;
            (_, _): accept;
        }
    }

    state signed_ {
        transition select(hdr.d.s) {
            4s5 .. 4s7: mark1;
            -3 .. 2: mark2;
            default: mark3;
        }
    }

    state mark1 { hdr.d.mark = 1; transition accept; }
    state mark2 { hdr.d.mark = 2; transition accept; }
    state mark3 { hdr.d.mark = 3; transition accept; }
}

#include "frame/parsed.p4"
