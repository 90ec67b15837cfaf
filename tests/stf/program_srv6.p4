// Segment routing over IPv6: an endpoint takes the next segment as destination; the last but one removes the
// routing header.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  length;
    bit<8>   next;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

header srh_t {
    bit<8>  next;
    bit<8>  length;
    bit<8>  type;
    bit<8>  left;
    bit<8>  last;
    bit<8>  flags;
    bit<16> tag;
}

header segment_t {
    bit<128> address;
}

struct headers_t {
    ethernet_t   ethernet;
    ipv6_t       ipv6;
    srh_t        srh;
    segment_t[4] segments;
}

struct meta_t {
    bit<8> to_parse;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x86dd: ipv6;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next) {
            43: srh;
            default: accept;
        }
    }

    state srh {
        packet.extract(hdr.srh);
        verify(hdr.srh.type == 4 && hdr.srh.length == (hdr.srh.last + 1) << 1 && hdr.srh.left <= hdr.srh.last,
            error.ParserInvalidArgument);
        meta.to_parse = hdr.srh.last;
        transition segment;
    }

    state segment {
        packet.extract(hdr.segments.next);
        meta.to_parse = meta.to_parse - 1;
        transition select(meta.to_parse) {
            0xff: accept;
            default: segment;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action end() {
        hdr.srh.left = hdr.srh.left - 1;
        hdr.ipv6.dst = hdr.segments[hdr.srh.left].address;
        if (hdr.srh.left == 0) {
            hdr.ipv6.next = hdr.srh.next;
            hdr.ipv6.length = hdr.ipv6.length - 8 - ((bit<16>) hdr.srh.length << 3);
            hdr.srh.setInvalid();
            hdr.segments.pop_front(4);
        }
    }
    table local {
        key = { hdr.ipv6.dst : exact; }
        actions = { end; NoAction; }
        default_action = NoAction();
    }
    table routes {
        key = { hdr.ipv6.dst : lpm; }
        actions = { forward; drop; }
        default_action = drop();
    }

    apply {
        if (std.parser_error != error.NoError || !hdr.ipv6.isValid()) {
            drop();
            exit;
        }
        if (hdr.srh.isValid() && hdr.srh.left > 0) {
            local.apply();
        }
        routes.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
