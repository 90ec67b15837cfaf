// Standard metadata at the start of ingress: port, length, zeroes; user metadata is zero for each packet.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

header result_t {
    bit<16> port;
    bit<32> length;
    bit<32> instance_type;
    bit<8>  user;
    bit<8>  zeroes;
    bit<8>  parsed;
}

struct headers_t {
    result_t result;
    data_t   data;
}

struct meta_t {
    bit<8>  user;
    bit<8>  parsed;
    bit<32> length_in_parser;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        meta.parsed = (bit<8>)std.ingress_port;
        meta.length_in_parser = std.packet_length;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.result.setValid();
        hdr.result.port = (bit<16>)std.ingress_port;
        hdr.result.length = std.packet_length;
        hdr.result.instance_type = std.instance_type;
        hdr.result.user = meta.user;
        hdr.result.zeroes = (bit<8>)(std.egress_spec == 0 ? 1w1 : 0) | (bit<8>)(std.mcast_grp == 0 ? 1w1 : 0) << 1
            | (bit<8>)(std.checksum_error == 0 ? 1w1 : 0) << 2 | (bit<8>)(std.parser_error == error.NoError ? 1w1 : 0) << 3
            | (bit<8>)(meta.length_in_parser == std.packet_length ? 1w1 : 0) << 4;
        hdr.result.parsed = meta.parsed;
        meta.user = 0xff;
        std.egress_spec = 7;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
