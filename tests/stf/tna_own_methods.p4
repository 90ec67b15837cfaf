// What the methods of a register action call by `this`: where the cell lies, a one by what the comparisons say, results of several types, and
// a register that is cleared.

#include <core.p4>
#include <t2na.p4>

header data_t {
    bit<8>  what;
    bit<32> value;           // written, as the others
    bit<16> predicate;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

struct pair_t {
    bit<32> first;
    bit<32> second;
}

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
    Register<pair_t, bit<4>>(16) pairs;
    // The place of a value in a pair, which it is put into if it is not there. The predicate is that of the pair as it was.
    RegisterAction2<pair_t, bit<4>, bit<32>, bit<16>>(pairs) find = {
        void apply(inout pair_t pair, out bit<32> place, out bit<16> predicate) {
            if (pair.first == hdr.data.value) {
                place = this.address<bit<32>>(0);
            } else if (pair.second == hdr.data.value) {
                place = this.address<bit<32>>(1);
            } else if (pair.first == 0) {
                pair.first = hdr.data.value;
                place = this.address<bit<32>>(0);
            } else if (pair.second == 0) {
                pair.second = hdr.data.value;
                place = this.address<bit<32>>(1);
            } else {
                place = 0;
            }
            predicate = this.predicate<bit<16>>();
        }
    };

    Register<bit<8>, bit<8>>(40) bytes;
    RegisterAction<bit<8>, bit<8>, bit<16>>(bytes) above = {
        void apply(inout bit<8> byte, out bit<16> result) {
            result = this.predicate(byte > 3, byte > 5, byte > 7, byte == 9);
            byte = byte + 2;
        }
    };
    RegisterAction<bit<8>, bit<8>, bit<32>>(bytes) where = {
        void apply(inout bit<8> byte, out bit<32> result) {
            result = this.address();
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.what == 0) {
            hdr.data.value = find.execute(5, hdr.data.predicate);
        } else if (hdr.data.what == 1) {
            hdr.data.predicate = above.execute(39);
        } else if (hdr.data.what == 2) {
            hdr.data.value = where.execute(39);
        } else if (hdr.data.what == 3) {
            bytes.clear(hdr.data.value[7:0]);
        } else {
            hdr.data.value[7:0] = bytes.write(39, 0x44);
        }
    }
}

#include "frame/tna.p4"
