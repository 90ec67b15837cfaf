// A deparser with locals, conditions, its own order, headers emitted twice, and struct parts.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
}

header cell_t {
    bit<8> x;
}

struct group_t {
    cell_t    one;
    cell_t[2] two;
}

struct headers_t {
    data_t  data;
    group_t group;
    cell_t  last;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.group.one);
        packet.extract(hdr.group.two.next);
        packet.extract(hdr.group.two.next);
        packet.extract(hdr.last);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.data.what == 3) {
            hdr.group.two[0].setInvalid();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        bit<8> what = hdr.data.what;
        packet.emit(hdr.last);
        if (what == 1) {
            packet.emit(hdr.data);
            packet.emit(hdr.data);
        } else if (what < 4) {
            packet.emit(hdr.group);
        } else {
            packet.emit(hdr.group.two);
            packet.emit(hdr.group.two[1]);
        }
        packet.emit(hdr.data);
    }
}

#include "frame/pipeline.p4"
