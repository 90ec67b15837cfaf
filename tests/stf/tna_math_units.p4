// `MathUnit`: functions of numbers by tables, with the precision of the device.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  what;
    bit<32> value;           // written
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

#define UNIT(NAME, CONSTRUCTOR)                                           \
    MathUnit<bit<32>>CONSTRUCTOR NAME##_unit;                             \
    RegisterAction<bit<32>, _, bit<32>>(cells) NAME = {                   \
        void apply(inout bit<32> cell, out bit<32> result) {              \
            cell = NAME##_unit.execute(hdr.data.value);                   \
            result = cell;                                                \
        }                                                                 \
    };

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<32>, _>(1) cells;
    UNIT(third, (MathOp_t.MUL, 1, 3))
    UNIT(square, (MathOp_t.SQR, 1))
    UNIT(root, (MathOp_t.SQRT, 1))
    UNIT(reciprocal, (MathOp_t.DIV, 0x10000))
    UNIT(square_reciprocal, (MathOp_t.RSQR, 0x1000000))
    UNIT(root_reciprocal, (MathOp_t.RSQRT, 0x1000000))
    UNIT(written, (false, 0, -3, { 15, 14, 13, 12, 11, 10, 9, 8, 0, 0, 0, 0, 0, 0, 0, 99 << 1 }))

    MathUnit<bit<8>>(MathOp_t.MUL, 2) twice_unit;
    Register<bit<8>, _>(1) bytes;
    RegisterAction<bit<8>, _, bit<8>>(bytes) twice = {
        void apply(inout bit<8> cell, out bit<8> result) {
            cell = twice_unit.execute(hdr.data.value[7:0]);
            result = cell;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.what == 0) {
            hdr.data.value = third.execute(0);
        } else if (hdr.data.what == 1) {
            hdr.data.value = square.execute(0);
        } else if (hdr.data.what == 2) {
            hdr.data.value = root.execute(0);
        } else if (hdr.data.what == 3) {
            hdr.data.value = reciprocal.execute(0);
        } else if (hdr.data.what == 4) {
            hdr.data.value = square_reciprocal.execute(0);
        } else if (hdr.data.what == 5) {
            hdr.data.value = root_reciprocal.execute(0);
        } else if (hdr.data.what == 6) {
            hdr.data.value = written.execute(0);
        } else {
            hdr.data.value = (bit<32>) twice.execute(0);
        }
    }
}

#include "frame/tna.p4"
