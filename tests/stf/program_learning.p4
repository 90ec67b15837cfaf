// A learning switch that needs no controller: registers indexed by a hash of the address keep address and port of
// each host.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<48>>(1024) addresses;
    register<bit<9>>(1024) ports;

    apply {
        bit<32> index;
        bit<48> address;
        bit<9> port;
        hash(index, HashAlgorithm.crc32, 32w0, { hdr.ethernet.src }, 32w1024);
        addresses.write(index, hdr.ethernet.src);
        ports.write(index, std.ingress_port);
        hash(index, HashAlgorithm.crc32, 32w0, { hdr.ethernet.dst }, 32w1024);
        addresses.read(address, index);
        ports.read(port, index);
        if (address == hdr.ethernet.dst) {
            std.egress_spec = port;
            if (port == std.ingress_port) {
                mark_to_drop(std);
            }
        } else {
            std.mcast_grp = 1;
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == std.ingress_port) {
            mark_to_drop(std);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
