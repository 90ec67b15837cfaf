// A header union holds one header at most: by extraction, setValid, assignment; what is read after, and what is
// emitted.

#include <core.p4>
#include <v1model.p4>

header a_t {
    bit<8> x;
}

header b_t {
    bit<16> y;
}

header_union u_t {
    a_t a;
    b_t b;
}

header data_t {
    bit<8> what;
    bit<8> valid;
}

struct headers_t {
    data_t data;
    u_t    u;
    u_t    w;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.what[0:0]) {
            0: a;
            1: b;
        }
    }

    state a {
        packet.extract(hdr.u.a);
        transition accept;
    }

    state b {
        packet.extract(hdr.u.b);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        switch (hdr.data.what >> 1) {
            1: { hdr.u.a.setValid(); hdr.u.a.x = 0x11; }
            2: { hdr.u.b.setValid(); hdr.u.b.y = 0x2222; }
            3: { hdr.u.a.setInvalid(); }
            4: { hdr.u.b = { 0x4444 }; }
            5: { hdr.w = hdr.u; hdr.w.a.setValid(); hdr.w.a.x = 0x55; }
            6: { a_t none; hdr.u.a = none; }
            7: { hdr.w = hdr.u; hdr.u = hdr.w; }
        }
        hdr.data.valid = (bit<8>) ((bit<1>) hdr.u.isValid() ++ (bit<1>) hdr.u.a.isValid() ++ (bit<1>) hdr.u.b.isValid()
            ++ (bit<1>) hdr.w.isValid());
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
