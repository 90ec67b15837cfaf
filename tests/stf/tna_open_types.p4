// Type arguments of extern objects that are left open: the index `_`, which each call decides, and the result `void`.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  which;
    bit<8>  index;
    bit<32> value;           // written
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

struct pair_t {
    bit<16> high;
    bit<16> low;
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
    Register<bit<32>, _>(256) cells;
    RegisterAction<bit<32>, _, bit<32>>(cells) next = {
        void apply(inout bit<32> value, out bit<32> result) {
            value = value + 1;
            result = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, void>(cells) double = {
        void apply(inout bit<32> value) {
            value = value + value;
        }
    };
    RegisterAction<bit<32>, _, void>(cells) clear = {
        void apply(inout bit<32> value) {
            value = 0;
        }
    };
    Register<pair_t, _>(4, { 7, 9 }) pairs;
    RegisterAction<pair_t, _, bit<16>>(pairs) sum = {
        void apply(inout pair_t value, out bit<16> result) {
            result = value.high + value.low;
            value.low = value.low + 1;
        }
    };
    DirectRegister<bit<32>>() hits;
    DirectRegisterAction<bit<32>, void>(hits) hit = {
        void apply(inout bit<32> value) {
            value = value + 1;
        }
    };
    Counter<bit<32>, _>(256, CounterType_t.PACKETS) counted;

    action count() {
        hit.execute();
    }
    table seen {
        key = { hdr.data.index: exact; }
        actions = { count; NoAction; }
        default_action = NoAction();
        registers = hits;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        counted.count(hdr.data.index);
        counted.count(200);
        seen.apply();
        if (hdr.data.which == 0) {
            hdr.data.value = next.execute(hdr.data.index);
        } else if (hdr.data.which == 1) {
            // A literal, and indices of other widths, name the same cells.
            hdr.data.value = next.execute(3);
        } else if (hdr.data.which == 2) {
            double.execute(hdr.data.index);
        } else if (hdr.data.which == 3) {
            hdr.data.value = cells.read((bit<16>) hdr.data.index);
        } else if (hdr.data.which == 4) {
            cells.write(16w5, hdr.data.value);
        } else if (hdr.data.which == 5) {
            clear.execute(16w3);
        } else if (hdr.data.which == 6) {
            hdr.data.value = (bit<32>) sum.execute(hdr.data.index[1:0]);
        }
    }
}

#include "frame/tna.p4"
