// Stacks of header unions: parsing into next, which header each holds, shifting.

#include <core.p4>
#include <v1model.p4>

header tag_t {
    bit<8> count;
}

header short_t {
    bit<8> kind;
    bit<8> x;
}

header long_t {
    bit<8>  kind;
    bit<16> y;
}

header_union option_t {
    short_t short;
    long_t  long;
}

struct headers_t {
    tag_t       result;
    tag_t       tag;
    option_t[3] options;
}

struct meta_t {
    bit<8> left;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.tag);
        meta.left = hdr.tag.count & 0xf;
        transition next;
    }

    state next {
        transition select(meta.left) {
            0: accept;
            default: option;
        }
    }

    state option {
        meta.left = meta.left - 1;
        transition select(packet.lookahead<bit<8>>()) {
            1: short;
            2: long;
        }
    }

    state short {
        packet.extract(hdr.options.next.short);
        transition next;
    }

    state long {
        packet.extract(hdr.options.next.long);
        transition next;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        hdr.result.count = (bit<8>)((bit<1>)hdr.options[0].short.isValid() ++ (bit<1>)hdr.options[0].long.isValid()
            ++ (bit<1>)hdr.options[1].isValid() ++ (bit<1>)hdr.options[2].isValid()
            ++ (bit<1>)(std.parser_error == error.StackOutOfBounds));
        if (hdr.tag.count[7:7] == 1) {
            hdr.options.pop_front(1);
        }
        if (hdr.tag.count[6:6] == 1) {
            hdr.options[0].short = { 1, 0xee };
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
