// push_front and pop_front by every count: what moves keeps fields and validity, what comes in is invalid, holes
// move too.

#include <core.p4>
#include <v1model.p4>

header s_t {
    bit<8> x;
}

header data_t {
    bit<8> what;
    bit<8> valid;
}

struct headers_t {
    data_t data;
    s_t[4] s;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.s[0]);
        packet.extract(hdr.s[1]);
        packet.extract(hdr.s[3]);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        switch (hdr.data.what) {
            1: { hdr.s.push_front(1); }
            2: { hdr.s.push_front(2); }
            3: { hdr.s.push_front(3); }
            4: { hdr.s.push_front(4); }
            5: { hdr.s.push_front(5); }
            0x11: { hdr.s.pop_front(1); }
            0x12: { hdr.s.pop_front(2); }
            0x13: { hdr.s.pop_front(3); }
            0x14: { hdr.s.pop_front(4); }
            0x15: { hdr.s.pop_front(9); }
            0x20: { hdr.s.push_front(1); hdr.s.pop_front(1); }
            0x21: { hdr.s.pop_front(1); hdr.s.push_front(1); }
        }
        hdr.data.valid = (bit<8>) ((bit<1>) hdr.s[0].isValid() ++ (bit<1>) hdr.s[1].isValid() ++ (bit<1>) hdr.s[2].isValid()
            ++ (bit<1>) hdr.s[3].isValid());
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
