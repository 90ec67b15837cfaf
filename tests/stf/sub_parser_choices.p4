// Parsers applied in branches of conditional statements: what follows in the branch and behind it comes afterwards, results
// are copied out at their end, and an error within ends it all. A function may be handed the packet.

#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> kind;
    bit<8> order;
}

header item_t {
    bit<8> value;
}

struct headers_t {
    kind_t kind;
    item_t a;
    item_t b;
    item_t c;
}

struct meta_t {
    bit<8> sum;
}

void take(packet_in packet, inout item_t item, inout bit<8> sum) {
    packet.extract(item);
    sum = sum + item.value;
}

parser Item(packet_in packet, out item_t item, inout bit<8> sum) {
    state start {
        packet.extract(item);
        sum = sum + item.value;
        transition select(item.value) {
            0xff: wrong;
            0xfe: reject;
            default: accept;
        }
    }
    state wrong {
        sum = 0x77;
        verify(false, error.ParserTimeout);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Item() item;
    Item() other;
    state start {
        packet.extract(hdr.kind);
        bit<8> order = 0;
        if (hdr.kind.kind[0:0] == 1) {
            order = order + 1;
            item.apply(packet, hdr.a, meta.sum);
            order = order * 2;
            if (hdr.a.value == 3) {
                other.apply(packet, hdr.b, order);
            } else {
                order = order + 0x10;
            }
            order = order + 0x20;
        } else if (hdr.kind.kind[1:1] == 1) {
            take(packet, hdr.c, meta.sum);
        } else {
            {
                item.apply(packet, hdr.b, meta.sum);
            }
        }
        hdr.kind.order = order;
        transition select(hdr.kind.kind[2:2]) {
            1: last;
            default: accept;
        }
    }
    state last {
        if (hdr.a.isValid()) {
            other.apply(packet, hdr.c, meta.sum);
        }
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.kind.kind = meta.sum;
        if (std.parser_error == error.ParserTimeout) {
            std.egress_spec = 3;
        } else if (std.parser_error != error.NoError) {
            std.egress_spec = 4;
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
