// IPv6 extension headers: a chain of headers with lengths of their own, walked by the parser and skipped with advance.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv6_t {
    bit<32>  version_class_label;
    bit<16>  length;
    bit<8>   next;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

header extension_t {
    bit<8> next;
    bit<8> length;
}

header result_t {
    bit<8> l4;
    bit<8> extensions;
    bit<8> error_seen;
}

struct headers_t {
    result_t result;
    ipv6_t   ipv6;
}

struct meta_t {
    bit<8> l4;
    bit<8> extensions;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    extension_t extension;
    state start {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next) {
            0 &&& 0xff: extension_header;
            43: extension_header;
            60: extension_header;
            44: fragment;
            default: done;
        }
    }
    state extension_header {
        extension = packet.lookahead<extension_t>();
        packet.advance(64 + ((bit<32>) extension.length << 6));
        meta.extensions = meta.extensions + 1;
        meta.l4 = extension.next;
        transition select(extension.next) {
            0 .. 0: extension_header;
            43 .. 44: maybe_fragment;
            60: extension_header;
            default: accept;
        }
    }
    state maybe_fragment {
        transition select(meta.l4) {
            44: fragment;
            default: extension_header;
        }
    }
    state fragment {
        extension = packet.lookahead<extension_t>();
        packet.advance(64);
        meta.extensions = meta.extensions + 0x10;
        meta.l4 = extension.next;
        transition accept;
    }
    state done {
        meta.l4 = hdr.ipv6.next;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.l4, meta.extensions, std.parser_error == error.PacketTooShort ? 8w1 : 0 };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.result);
    }
}

#include "frame/pipeline.p4"
