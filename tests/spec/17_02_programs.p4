// Section 17.2: a package is instantiated with a parser and a control for one type, which is inferred, or given. `V1Switch` has
// its two types given here.

#include <core.p4>
#include <v1model.p4>

parser Prs<T>(packet_in packet, out T result);
control Pipe<T>(in T data);
package Tiny<T>(Prs<T> p, Pipe<T> map);

parser P(packet_in packet, out bit<32> index) {
    state start {
        index = packet.length();
        transition accept;
    }
}

control Pipe1(in bit<32> data) {
    apply { }
}

Tiny(P(), Pipe1()) inferred;
Tiny<bit<32>>(P(), Pipe1()) given;

header data_t {
    bit<8> x;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control Ingress_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.data.x = hdr.data.x + 1;
    }
}

control Egress_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch<headers_t, meta_t>(TestParser(), NoChecksums(), Ingress_(), Egress_(), NoChecksums(), TestDeparser()) main;
