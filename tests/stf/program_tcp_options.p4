// TCP options, one by one: a loop in the parser with lookahead and a counter of bytes left, a varbit for what is skipped.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<64> numbers;
    bit<4>  offset;
    bit<12> flags;
    bit<48> rest;
}

header byte_t {
    bit<8> kind;
}

header mss_t {
    bit<8>  kind;
    bit<8>  length;
    bit<16> mss;
}

header other_t {
    bit<8>      kind;
    bit<8>      length;
    varbit<304> data;
}

header_union option_t {
    byte_t  byte;
    mss_t   mss;
    other_t other;
}

struct headers_t {
    tcp_t        tcp;
    option_t[10] options;
}

struct meta_t {
    bit<8> left;
}

error { BadOption }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.tcp);
        verify(hdr.tcp.offset >= 5, error.BadOption);
        meta.left = ((bit<8>) hdr.tcp.offset - 5) << 2;
        transition option;
    }
    state option {
        transition select(meta.left) {
            0: accept;
            default: kind;
        }
    }
    state kind {
        transition select(packet.lookahead<bit<8>>()) {
            0: one_byte;
            1: one_byte;
            2: mss;
            default: other;
        }
    }
    state one_byte {
        packet.extract(hdr.options.next.byte);
        meta.left = meta.left - 1;
        transition option;
    }
    state mss {
        verify(meta.left >= 4, error.BadOption);
        packet.extract(hdr.options.next.mss);
        verify(hdr.options.last.mss.length == 4, error.BadOption);
        meta.left = meta.left - 4;
        transition option;
    }
    state other {
        bit<8> length = packet.lookahead<bit<16>>()[7:0];
        verify(length >= 2 && length <= meta.left, error.BadOption);
        packet.extract(hdr.options.next.other, (bit<32>) (length - 2) << 3);
        meta.left = meta.left - length;
        transition option;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (std.parser_error == error.BadOption) {
            mark_to_drop(std);
        }
        // Clamp the segment size wherever the option stands.
        for (bit<32> i in 0 .. 9) {
            if (hdr.options[i].mss.isValid() && hdr.options[i].mss.mss > 1000) {
                hdr.options[i].mss.mss = 1000;
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
