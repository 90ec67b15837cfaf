// Validity of headers: setValid, setInvalid, assignment, comparison, and emission of valid ones only.

#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
}

header value_t {
    bit<8> x;
    bit<8> y;
}

struct headers_t {
    op_t    op;
    value_t a;
    value_t b;
    value_t c;
    op_t    result;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.a);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_t local;

    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        bit<1> b_before = (bit<1>)hdr.b.isValid();
        switch (hdr.op.op) {
            1: { hdr.b.setValid(); }                 // new: fields are zero
            2: { hdr.a.setInvalid(); }
            3: { hdr.b = hdr.a; hdr.b.x = 0xbb; }    // a copy, valid like its source
            4: { hdr.b = hdr.a; hdr.b = hdr.c; }     // from an invalid header: invalid
            5: { hdr.b.setValid(); hdr.b = { 5, 6 }; }
            6: { hdr.c = { 7, 8 }; }                 // assigning a list makes it valid
            7: { local = hdr.a; hdr.a.setInvalid(); hdr.c = local; }
            8: { hdr.a.setValid(); }                 // already valid: nothing changes
            9: { hdr.b = hdr.a; hdr.a = (value_t){#}; }
        }
        hdr.result.op = (bit<8>)(b_before ++ (bit<1>)hdr.a.isValid() ++ (bit<1>)hdr.b.isValid() ++ (bit<1>)hdr.c.isValid()
            ++ (bit<1>)(hdr.a == hdr.b) ++ (bit<1>)(hdr.b == hdr.c) ++ (bit<1>)local.isValid());
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
