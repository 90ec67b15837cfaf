// Section 13.10: a parser calls an instance of another: after `accept` the caller's state goes on, after `reject` the caller
// rejects, too.

#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<8> ttl;
}

header data_t {
    bit<8> trace;
}

struct headers_t {
    data_t data;
    ipv4_t first;
    ipv4_t second;
}

struct meta_t { }

error { Expired }

parser Callee(packet_in packet, out ipv4_t ipv4, inout bit<8> trace) {
    state start {
        packet.extract(ipv4);
        trace = trace + 1;
        verify(ipv4.ttl != 0, error.Expired);
        transition select(ipv4.ttl) {
            1: accept;
            default: more;
        }
    }

    state more {
        trace = trace + 0x10;
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Callee() callee;

    state start {
        hdr.data = { 0 };
        bit<8> trace = 0;
        callee.apply(packet, hdr.first, trace);
        trace = trace + 2;
        callee.apply(packet, hdr.second, trace);
        hdr.data.trace = trace;
        transition accept;
    }
}

#include "frame/parsed.p4"
