// Section 8.18: a stack: its size, its elements, `push_front` and `pop_front`, which move the elements and the next index.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

header op_t {
    bit<8> op;
    bit<8> found;
}

struct headers_t {
    op_t      op;
    item_t[4] s;
    item_t[4] t;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        transition select(hdr.op.op) {
            5: pushed;
            6: popped;
            7: empty;
            8: full;
            default: accept;
        }
    }

    // The next index is moved with the elements.
    state pushed {
        hdr.s.push_front(1);
        hdr.op.found = hdr.s.lastIndex[7:0];
        transition accept;
    }

    state popped {
        hdr.s.pop_front(2);
        hdr.op.found = hdr.s.lastIndex[7:0];
        packet.extract(hdr.s.next);
        transition accept;
    }

    // It stops at 0, and at the size.
    state empty {
        hdr.s.pop_front(4);
        packet.extract(hdr.s.next);
        hdr.op.found = hdr.s.lastIndex[7:0];
        transition accept;
    }

    state full {
        hdr.s.push_front(3);
        packet.extract(hdr.s.next);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.parser_error == error.StackOutOfBounds ? 9w3 : 1;
        switch (hdr.op.op) {
            1: { hdr.s.push_front(1); }
            2: { hdr.s.push_front(3); }
            3: { hdr.s.pop_front(1); }
            4: { hdr.s.pop_front(4); }
            9: {
                hdr.t = hdr.s;
                hdr.s[0].setInvalid();
                hdr.op.found = (bit<8>) hdr.s.size + (hdr.s == hdr.t ? 8w0x10 : 0x20);
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
