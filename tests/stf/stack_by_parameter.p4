// A stack handed to sub-parsers keeps its place for next; whole header structs are saved and brought back.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

struct headers_t {
    item_t    op;
    item_t[4] items;
    item_t    last;
}

struct meta_t {
    headers_t saved;
    bit<8>    index;
}

parser Two(packet_in packet, inout item_t[4] items) {
    state start {
        packet.extract(items.next);
        packet.extract(items.next);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Two() two;

    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.items.next);
        two.apply(packet, hdr.items);
        packet.extract(hdr.items.next);
        meta.index = (bit<8>)hdr.items.lastIndex;
        meta.saved = hdr;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        switch (hdr.op.x) {
            1: { hdr.items.pop_front(3); hdr.op.x = 0xff; }
            2: { hdr.items.pop_front(3); hdr.op.x = 0xff; hdr = meta.saved; }
            3: { headers_t copy = hdr; copy.items[0].x = 0xcc; hdr.items = copy.items; }
        }
        hdr.last = { meta.index };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
