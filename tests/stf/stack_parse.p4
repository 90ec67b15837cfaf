// Header stacks in a parser: next, last, lastIndex, and StackOutOfBounds when the stack is full.

#include <core.p4>
#include <v1model.p4>

header label_t {
    bit<7> value;
    bit<1> bottom;
}

header result_t {
    bit<8> last_index;
    bit<8> last;
    bit<8> overflow;
}

struct headers_t {
    result_t   result;
    label_t[3] labels;
}

struct meta_t {
    bit<8> last_index;
    bit<8> last;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.labels.next);
        meta.last = (bit<8>)hdr.labels.last.value;
        meta.last_index = (bit<8>)hdr.labels.lastIndex;
        transition select(hdr.labels.last.bottom) {
            0: start;
            1: accept;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        hdr.result.last_index = meta.last_index;
        hdr.result.last = meta.last;
        hdr.result.overflow = std.parser_error == error.StackOutOfBounds ? 8w1 : 0;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.result);
        packet.emit(hdr.labels);
    }
}

#include "frame/pipeline.p4"
