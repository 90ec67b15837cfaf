// Section 7.2.10.2.1: an extern whose object has a method that the program supplies. v1model has none; TNA's `RegisterAction` has
// `apply`.
// Section 11.3.1: the object is instantiated with an implementation of its abstract method, which uses arguments and what is at
// the top.

#include <core.p4>
#include <tna.p4>

const bit<32> STEP = 3;

header data_t {
    bit<8>  op;
    bit<8>  index;
    bit<32> result;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<32>, bit<8>>(4, 7) flows;

    RegisterAction<bit<32>, bit<8>, bit<32>>(flows) next = {
        void apply(inout bit<32> value, out bit<32> result) {
            value = value + STEP;
            result = value & 0xff;
        }
    };

    RegisterAction<bit<32>, bit<8>, bit<32>>(flows) read = {
        void apply(inout bit<32> value, out bit<32> result) {
            result = value;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.op == 1) {
            hdr.data.result = next.execute(hdr.data.index);
        } else {
            hdr.data.result = read.execute(hdr.data.index);
        }
    }
}

#include "frame/tna.p4"
