// Source routing: a stack of ports in front of the packet; each switch takes the first off and sends there.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header hop_t {
    bit<1>  last;
    bit<15> port;
}

struct headers_t {
    ethernet_t ethernet;
    hop_t[4]   hops;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x1234: hop;
            default: accept;
        }
    }
    state hop {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.last) {
            1: accept;
            default: hop;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.hops[0].isValid() && std.parser_error == error.NoError) {
            std.egress_spec = (bit<9>) hdr.hops[0].port;
            if (hdr.hops[0].last == 1) {
                hdr.ethernet.type = 0x0800;
            }
            hdr.hops.pop_front(1);
        } else {
            mark_to_drop(std);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.hops);
    }
}

#include "frame/pipeline.p4"
