// A queue in a chain of two registers. Without an access to the first one, as for an empty queue, its address is that of the first cell.

#include <core.p4>
#include <t2na.p4>

header data_t {
    bit<8>  what;
    bit<32> address;         // of the second register
    bit<16> value;           // written
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
    @chain_total_size(4)
    Register<bit<16>, bit<32>>(2) first;
    Register<bit<16>, bit<32>>(2) second;

    @chain_address
    RegisterAction<bit<16>, bit<32>, bit<32>>(first) write_first = {
        void apply(inout bit<16> cell) {
            cell = hdr.data.value;
        }
    };
    RegisterAction<bit<16>, bit<32>, bit<16>>(second) write_second = {
        void apply(inout bit<16> cell) {
            cell = hdr.data.value;
        }
    };
    @chain_address
    RegisterAction<bit<16>, bit<32>, bit<32>>(first) read_first = {
        void apply(inout bit<16> cell, out bit<32> result) {
            result = (bit<32>)cell;
        }
    };
    RegisterAction<bit<16>, bit<32>, bit<16>>(second) read_second = {
        void apply(inout bit<16> cell, out bit<16> result) {
            result = cell;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.what == 0) {
            write_first.enqueue();
            hdr.data.address = write_first.address();
            write_second.execute(hdr.data.address);
        } else {
            hdr.data.value = (bit<16>)read_first.dequeue();
            hdr.data.address = read_first.address();
            hdr.data.value = hdr.data.value | read_second.execute(hdr.data.address);
        }
    }
}

#include "frame/tna.p4"
