// Register actions on values of another width than the cell: they work on its lowest bits and keep the others. What is above a narrower
// cell is zero, and cut off when it is written.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  which;
    bit<32> value;           // written
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

struct bytes_t {
    bit<8> high;
    bit<8> low;
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
    Register<bit<32>, bit<32>>(4) cells;
    RegisterAction<bit<24>, bit<32>, bit<24>>(cells) low = {
        void apply(inout bit<24> value, out bit<24> before) {
            before = value;
            value = value + 1;
        }
    };
    RegisterAction<bit<1>, bit<32>, bit<1>>(cells) flip = {
        void apply(inout bit<1> value, out bit<1> before) {
            before = value;
            value = ~value;
        }
    };
    RegisterAction<bytes_t, bit<32>, bit<8>>(cells) bytes = {
        void apply(inout bytes_t value, out bit<8> before) {
            before = value.high;
            value.high = value.low;
        }
    };
    RegisterAction<int<32>, bit<32>, bit<1>>(cells) signed = {
        void apply(inout int<32> value, out bit<1> below) {
            if (value < 0) {
                below = 1;
            }
        }
    };
    Register<bit<8>, bit<32>>(4) small;
    RegisterAction<bit<16>, bit<32>, bit<16>>(small) wide = {
        void apply(inout bit<16> value, out bit<16> after) {
            value = value + 0x81;
            after = value;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.which == 0) {
            hdr.data.value = (bit<32>) low.execute(3);
        } else if (hdr.data.which == 1) {
            hdr.data.value = (bit<32>) flip.execute(3);
        } else if (hdr.data.which == 2) {
            hdr.data.value = (bit<32>) bytes.execute(3);
        } else if (hdr.data.which == 3) {
            hdr.data.value = (bit<32>) signed.execute(3);
        } else if (hdr.data.which == 4) {
            hdr.data.value = (bit<32>) wide.execute(3);
        } else if (hdr.data.which == 5) {
            hdr.data.value = cells.read(3);
        } else {
            cells.write(3, hdr.data.value);
        }
    }
}

#include "frame/tna.p4"
