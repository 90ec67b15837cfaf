// Header stacks in a control: push_front, pop_front, size, run-time index, assignment.

#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> index;
}

header item_t {
    bit<8> x;
}

header result_t {
    bit<8> x;
}

struct headers_t {
    op_t      op;
    item_t[4] items;
    result_t  result;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.items[0]);
        packet.extract(hdr.items[1]);
        packet.extract(hdr.items[2]);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        switch (hdr.op.op) {
            1: { hdr.items.push_front(1); hdr.items[0].setValid(); hdr.items[0].x = 0xaa; }
            2: { hdr.items.push_front(2); }
            3: { hdr.items.pop_front(1); }
            4: { hdr.items.pop_front(4); }
            5: { hdr.items[hdr.op.index].x = 0xbb; }
            6: { hdr.result.x = hdr.items[hdr.op.index].x; }
            7: { hdr.items[hdr.op.index].setInvalid(); }
            8: { hdr.items[3] = hdr.items[hdr.op.index]; }
            9: { item_t[4] copy = hdr.items; hdr.items.pop_front(2); hdr.items[2] = copy[0]; }
            10: { hdr.result.x = (bit<8>)hdr.items.size; }
            // What is shifted in at the end is invalid.
            11: { hdr.items.pop_front(1); hdr.items.push_front(1); }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
