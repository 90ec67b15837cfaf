// varbit fields take the length they are extracted with; too long is HeaderTooShort, beyond the packet PacketTooShort.

#include <core.p4>
#include <v1model.p4>

header fixed_t {
    bit<8> length;
}

header options_t {
    bit<8>     kind;
    varbit<32> data;
    bit<8>     tail;
}

header result_t {
    bit<8> error_number;
}

struct headers_t {
    result_t  result;
    options_t copy;
    fixed_t   fixed;
    options_t options;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.fixed);
        packet.extract(hdr.options, (bit<32>)hdr.fixed.length);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        if (std.parser_error == error.HeaderTooShort) {
            hdr.result.error_number = 1;
        } else if (std.parser_error == error.PacketTooShort) {
            hdr.result.error_number = 2;
        } else if (std.parser_error == error.ParserInvalidArgument) {
            hdr.result.error_number = 3;
        }
        if (hdr.options.kind == 0xcc) {
            hdr.copy = hdr.options;
            hdr.copy.tail = 0xee;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
