// Rows of 128 bits: the least and the greatest cell of a register, which it is, and a number that is added to it.

#include <core.p4>
#include <t2na.p4>

header data_t {
    bit<8>  what;
    bit<16> value;           // written, as the other
    bit<8>  index;
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
    Register<bit<16>, bit<5>>(32) cells;
    MinMaxAction2<bit<16>, bit<2>, bit<16>, bit<3>>(cells) greatest = {
        void apply(inout bit<128> row, out bit<16> value, out bit<3> index) {
            value = this.max16(row, 0xff, index, -3);
        }
    };
    MinMaxAction2<bit<16>, bit<2>, bit<16>, bit<3>>(cells) least = {
        void apply(inout bit<128> row, out bit<16> value, out bit<3> index) {
            value = this.min16(row, 0x7c, index);
        }
    };

    Register<bit<128>, bit<1>>(2) wide;
    RegisterAction<bit<128>, bit<1>, bit<8>>(wide) bytes = {
        void apply(inout bit<128> row, out bit<8> result) {
            bit<4> index;
            bit<8> least_byte = this.min8(row, 0x8001, index);
            row[127:120] = row[127:120] + 1;
            result = least_byte + (bit<8>) index;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.what == 0) {
            bit<3> index;
            hdr.data.value = greatest.execute(1, index);
            hdr.data.index = (bit<8>) index;
        } else if (hdr.data.what == 1) {
            bit<3> index;
            hdr.data.value = least.execute(1, index);
            hdr.data.index = (bit<8>) index;
        } else {
            hdr.data.value = (bit<16>) bytes.execute(1);
        }
    }
}

#include "frame/tna.p4"
