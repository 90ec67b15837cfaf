// `setValid` on a Tofino: the fields of an invalid header keep what they had and what is written to them.

#include <core.p4>
#include <tna.p4>

header choice_t {
    bit<8> what;
    bit<8> seen;             // written: whether `new` is valid
}

header new_t {
    bit<16> first;
    bit<8>  second;
    bit<8>  third;
}

header element_t {
    bit<8> value;
}

struct headers_t {
    choice_t     choice;
    new_t        new;
    element_t[2] elements;
    new_t        old;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.choice);
        transition select(hdr.choice.what) {
            0x10: in_parser;
            default: old;
        }
    }
    state in_parser {
        hdr.new.second = 0x5a;
        hdr.new.setValid();
        transition old;
    }
    state old {
        pkt.extract(hdr.old);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action give(bit<8> third) {
        hdr.new.third = third;
    }
    table before {
        key = { hdr.choice.what: exact; }
        actions = { give; NoAction; }
        default_action = NoAction();
    }
    apply {
        ig_tm_md.ucast_egress_port = 2;
        before.apply();
        if (hdr.choice.what == 1) {
            // All of it.
            hdr.new.first = 0xbeef;
            hdr.new.second = 0x11;
            hdr.new.third = 0x22;
            hdr.new.setValid();
        } else if (hdr.choice.what == 2) {
            // A part; the rest was never written.
            hdr.new.first[11:4] = 0xff;
            hdr.new.setValid();
        } else if (hdr.choice.what == 3) {
            // What was received stays, but for what is written while it is invalid.
            hdr.old.setInvalid();
            hdr.old.second = 0x77;
            hdr.old.setValid();
        } else if (hdr.choice.what == 4) {
            hdr.old.setInvalid();
            hdr.old.setValid();
        } else if (hdr.choice.what == 5) {
            // An action of a table wrote it.
            hdr.new.setValid();
        } else if (hdr.choice.what == 6) {
            // It stays invalid.
            hdr.new.first = 0xdead;
        } else if (hdr.choice.what == 7) {
            // Twice, with a write between.
            hdr.new.setValid();
            hdr.new.first = 0x1234;
            hdr.new.setValid();
            hdr.new.second = hdr.new.first[7:0];
        } else if (hdr.choice.what == 8) {
            // Computed from fields of an invalid header.
            hdr.new.first = 0x0100;
            hdr.new.first = hdr.new.first + (bit<16>) hdr.old.third;
            hdr.new.setValid();
        } else if (hdr.choice.what == 9) {
            // Elements of a stack, the second one before the first one.
            hdr.elements[1].value = 0xbb;
            hdr.elements[0].value = 0xaa;
            hdr.elements[1].setValid();
            hdr.elements[0].setValid();
        } else if (hdr.choice.what == 0x0a) {
            // One that becomes valid on one path only.
            hdr.new.first = 0x4242;
            if (hdr.old.first == 1) {
                hdr.new.setValid();
            }
        } else if (hdr.choice.what == 0x0b) {
            // A copy of an invalid header has its fields.
            new_t other;
            other.first = 0x1111;
            other.second = 0x33;
            other.third = 0x44;
            other.setInvalid();
            hdr.new = other;
            hdr.new.setValid();
        }
        hdr.choice.seen = hdr.new.isValid() ? 8w1 : 0;
    }
}

#include "frame/tna.p4"
