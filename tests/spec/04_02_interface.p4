// Section 4.2: a block is described by the port that packets come from, headers that it changes, and a port that it decides.
// v1model has no such block; its ingress calls one.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> seen;
}

control Block<H>(in bit<4> from, inout H headers, out bit<4> to);

control Next(in bit<4> from, inout data_t headers, out bit<4> to) {
    apply {
        headers.seen = (bit<8>) from;
        to = from + 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Next() next;

    apply {
        bit<4> to;
        next.apply(std.ingress_port[3:0], d, to);
        std.egress_spec = 5w0 ++ to;
    }
}

#include "../stf/frame/one_header.p4"
