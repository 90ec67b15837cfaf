// Section 8.19: IPv4 and IPv6 uniformly: one union in the headers, which is emitted whatever it holds.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<16> kind;
}

header ipv4_t {
    bit<8>  ttl;
    bit<32> dst;
}

header ipv6_t {
    bit<8>  hops;
    bit<64> dst;
}

header_union ip_t {
    ipv4_t v4;
    ipv6_t v6;
}

struct headers_t {
    ethernet_t ethernet;
    ip_t       ip;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            16w0x0800: ipv4;
            16w0x86DD: ipv6;
            16w0x4664: translated;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ip.v4);
        hdr.ip.v4.ttl = hdr.ip.v4.ttl - 1;
        transition accept;
    }

    state ipv6 {
        packet.extract(hdr.ip.v6);
        hdr.ip.v6.hops = hdr.ip.v6.hops - 1;
        transition accept;
    }

    // The second member that is extracted takes the place of the first.
    state translated {
        packet.extract(hdr.ip.v4);
        packet.extract(hdr.ip.v6);
        transition accept;
    }
}

#include "frame/parsed.p4"
