// Packets with a frame check sequence, as on the device: counters count it, and parsers may read it.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> what;
}

header tail_t {
    bit<32> value;
}

struct headers_t {
    data_t data;
    tail_t tail;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition select(hdr.data.what) {
            1: tail;
            default: accept;
        }
    }
    state tail {
        pkt.extract(hdr.tail);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Counter<bit<32>, bit<1>>(2, CounterType_t.BYTES) bytes;

    apply {
        ig_tm_md.ucast_egress_port = 2;
        bytes.count(0);
        if (hdr.data.what == 2) {
            hdr.tail.setValid();
            hdr.tail.value = 0x01020304;
        }
    }
}

#include "frame/tna.p4"
