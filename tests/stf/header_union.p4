// Of a header union at most one header is valid; making one valid makes the others invalid.

#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
}

header short_t {
    bit<8> x;
}

header long_t {
    bit<16> y;
}

header_union either_t {
    short_t short;
    long_t  long;
}

struct headers_t {
    op_t     op;
    either_t u;
    either_t v;
    op_t     result;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.op[7:7]) {
            0: short;
            1: long;
        }
    }

    state short {
        packet.extract(hdr.u.short);
        transition accept;
    }

    state long {
        packet.extract(hdr.u.long);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        switch (hdr.op.op) {
            1: { hdr.u.long.setValid(); hdr.u.long.y = 0xaaaa; }
            2: { hdr.u.short.setInvalid(); }
            3: { hdr.v = hdr.u; }
            4: { hdr.v.long = { 0xbbbb }; hdr.v = hdr.u; }
            5: { hdr.u.long.setInvalid(); }
            0x81: { hdr.u.short = { 0xcc }; }
        }
        hdr.result.op = (bit<8>)((bit<1>)hdr.u.isValid() ++ (bit<1>)hdr.u.short.isValid() ++ (bit<1>)hdr.u.long.isValid()
            ++ (bit<1>)hdr.v.isValid() ++ (bit<1>)hdr.v.short.isValid() ++ (bit<1>)hdr.v.long.isValid());
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.op);
        packet.emit(hdr.u);
        packet.emit(hdr.v);
        packet.emit(hdr.result);
    }
}

#include "frame/pipeline.p4"
