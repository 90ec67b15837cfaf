// A checksum over a header with a varbit field: IPv4 with options of every length, verified and updated.

#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;
    bit<8>      tos;
    bit<16>     length;
    bit<16>     id;
    bit<16>     fragment;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     checksum;
    bit<32>     src;
    bit<32>     dst;
    varbit<320> options;
}

struct headers_t {
    ipv4_t ip;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8> first = packet.lookahead<bit<8>>();
        verify(first[3:0] >= 5, error.HeaderTooShort);
        packet.extract(hdr.ip, (bit<32>) (first[3:0] - 5) * 32);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ip.isValid(), { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length, hdr.ip.id, hdr.ip.fragment,
            hdr.ip.ttl, hdr.ip.protocol, hdr.ip.src, hdr.ip.dst, hdr.ip.options }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (std.checksum_error == 1 || std.parser_error != error.NoError) {
            mark_to_drop(std);
        }
        hdr.ip.ttl = hdr.ip.ttl - 1;
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ip.isValid(), { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length, hdr.ip.id, hdr.ip.fragment,
            hdr.ip.ttl, hdr.ip.protocol, hdr.ip.src, hdr.ip.dst, hdr.ip.options }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
