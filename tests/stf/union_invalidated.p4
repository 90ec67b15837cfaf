// A header union becomes invalid when a member is invalidated, or is assigned an invalid header, although another member is
// valid (P4-16 8.20): in actions, functions, `out` parameters, parsers, locals, metadata, and at run-time indices.

#include <core.p4>
#include <v1model.p4>

header i_t {
    bit<8> op;
}

header a_t {
    bit<8> x;
}

header b_t {
    bit<8> y;
}

header_union u_t {
    a_t a;
    b_t b;
}

struct headers_t {
    i_t    i;
    u_t    u;
    u_t[2] us;
}

struct meta_t {
    u_t m;
}

void invalidate(inout b_t h) {
    h.setInvalid();
}

void give_none(out b_t h) {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.i);
        packet.extract(hdr.u.a);
        packet.extract(hdr.us.next.a);
        transition select(hdr.i.op) {
            5: invalid;
            default: accept;
        }
    }

    state invalid {
        hdr.u.b.setInvalid();
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action act(inout b_t h) {
        h.setInvalid();
    }

    apply {
        std.egress_spec = 1;
        u_t l = hdr.u;
        bit<1> k = (bit<1>) (std.ingress_port == 1);
        switch (hdr.i.op) {
            1: { act(hdr.u.b); }
            2: { invalidate(hdr.u.b); }
            3: { give_none(hdr.u.b); }
            4: { hdr.us[k].b.setInvalid(); }
            6: { l.b.setInvalid(); hdr.u = l; }
            7: { meta.m = hdr.u; meta.m.b.setInvalid(); hdr.u = meta.m; }
            8: { b_t none; hdr.us[k].b = none; }
        }
        hdr.i.op = (hdr.u.isValid() ? 8w0x10 : 0) | (hdr.us[0].isValid() ? 8w1 : 0);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
