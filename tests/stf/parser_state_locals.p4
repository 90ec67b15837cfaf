// A variable that a parser state declares without a value is zero each time the state is entered.

#include <core.p4>
#include <v1model.p4>

header cell_t {
    bit<8> more;
    bit<8> seen;
}

struct headers_t {
    cell_t[3] cells;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8> x;
        cell_t kept;
        packet.extract(hdr.cells.next);
        // What the last turn left would show.
        hdr.cells[hdr.cells.lastIndex].seen = x + (kept.isValid() ? 8w0x80 : 0);
        x = hdr.cells.last.more + 1;
        kept = { 1, 2 };
        transition select(hdr.cells.last.more) {
            0: accept;
            default: start;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.cells);
    }
}

#include "frame/pipeline.p4"
