// Stacks: shifting by more than the size, and by the size; what push and pop leave invalid has to be set anew.

#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
}

struct headers_t {
    op_t    op;
    op_t[3] s;
    op_t    valid;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        switch (hdr.op.op) {
            0: { hdr.s.push_front(3); }
            1: { hdr.s.push_front(7); }
            2: { hdr.s.pop_front(7); }
            3: { hdr.s.push_front(2); hdr.s.pop_front(1); }
            4: { hdr.s.pop_front(2); hdr.s.push_front(1); hdr.s[0].setValid(); }
            5: { hdr.s[0] = hdr.s[2]; hdr.s.pop_front(1); hdr.s[2] = hdr.s[0]; }
        }
        hdr.valid = { (bit<8>)((bit<1>)hdr.s[0].isValid() ++ (bit<1>)hdr.s[1].isValid() ++ (bit<1>)hdr.s[2].isValid()) };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
