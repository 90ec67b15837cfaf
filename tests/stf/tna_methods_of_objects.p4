// TNA: an object's initialiser has an object of its own, the program calls a method that it implements (P4-16 11.3.1), and methods of objects
// without a name.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> a;
    bit<8> result;
    bit<8> first;
    bit<8> second;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<8>, bit<8>>(4, 10) cells;

    RegisterAction<bit<8>, bit<8>, bit<8>>(cells) add = {
        Hash<bit<8>>(HashAlgorithm_t.IDENTITY) same;
        void apply(inout bit<8> value, out bit<8> result) {
            result = same.get({ value });
            value = value + hdr.data.a;
        }
    };

    apply {
        hdr.data.result = add.execute(1);
        // Without the register.
        add.apply(hdr.data.first, hdr.data.second);
        // Objects that are made where their methods are called.
        hdr.data.a = Hash<bit<8>>(HashAlgorithm_t.IDENTITY).get({ hdr.data.a + 1 });
        hdr.data.a = Hash<bit<8>>(HashAlgorithm_t.XOR8).get({ hdr.data.a, hdr.data.second });
        ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;
    }
}

#include "frame/tna.p4"
