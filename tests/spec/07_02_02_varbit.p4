// Section 7.2.2: an IPv4 header whose options have a size that is known when it is parsed.

#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;
    bit<152>    between;
    varbit<320> options;
}

header mark_t {
    bit<8> options_length;
}

struct headers_t {
    ipv4_t ipv4;
    mark_t mark;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8> first = packet.lookahead<bit<8>>();
        packet.extract(hdr.ipv4, (bit<32>) (first[3:0] - 5) * 32);
        hdr.mark = { (bit<8>) hdr.ipv4.ihl };
        transition accept;
    }
}

#include "frame/parsed.p4"
