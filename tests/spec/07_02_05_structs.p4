// Section 7.2.5: a struct of headers, and of a union of headers, is emitted field by field; structs without fields are legal.

#include <core.p4>
#include <v1model.p4>

header tcp_t {
    bit<8> port;
}

header udp_t {
    bit<8> port;
}

header_union transport_t {
    tcp_t tcp;
    udp_t udp;
}

header ethernet_t {
    bit<8> kind;
}

struct none_t { }

struct parsed_t {
    none_t      none;
    ethernet_t  ethernet;
    transport_t transport;
    tcp_t       tcp;
}

struct headers_t {
    parsed_t parsed;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.parsed.ethernet);
        packet.extract(hdr.parsed.tcp);
        parsed_t copy = hdr.parsed;
        copy.tcp.port = copy.tcp.port + 1;
        copy.transport.udp = { 0x77 };
        hdr.parsed = copy;
        transition accept;
    }
}

#include "frame/parsed.p4"
