// TNA: registers with a cell for each entry of a table.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  op;
    bit<8>  index;
    bit<16> a;
    bit<32> result;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

struct pair_t {
    bit<32> low;
    bit<32> high;
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
    DirectRegister<bit<32>>() sums;
    DirectRegister<pair_t>({100, 2}) least;
    DirectRegister<bit<16>>(7) last;
    DirectRegister<bit<32>>(5) alone;
    DirectMeter(MeterType_t.PACKETS) meter;

    // Adds to the entry's cell, and returns what was there.
    DirectRegisterAction<bit<32>, bit<32>>(sums) fetch_add = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value + (bit<32>) hdr.data.a;
        }
    };

    DirectRegisterAction<bit<32>, bit<32>>(sums) fetch = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
        }
    };

    // The least of what was seen in one half, the number of packets in the other.
    DirectRegisterAction<pair_t, bit<32>>(least) smallest = {
        void apply(inout pair_t value, out bit<32> result) {
            if ((bit<32>) hdr.data.a < value.low) {
                value.low = (bit<32>) hdr.data.a;
            }
            value.high = value.high + 1;
            result = value.low[15:0] ++ value.high[15:0];
        }
    };

    // Of a register that no table has.
    DirectRegisterAction<bit<32>, bit<32>>(alone) next = {
        void apply(inout bit<32> value, out bit<32> now) {
            value = value + 1;
            now = value;
        }
    };

    action add() {
        hdr.data.result = fetch_add.execute();
    }

    action show(bit<8> index) {
        hdr.data.result = fetch.execute();
        hdr.data.index = index;
    }

    action compare(bit<8> index) {
        hdr.data.result = smallest.execute();
        hdr.data.index = index;
    }

    action exchange() {
        hdr.data.result = (bit<32>) last.read();
        last.write(hdr.data.a);
        hdr.data.index = (bit<8>) meter.execute();
    }

    table exact_table {
        key = { hdr.data.index: exact; }
        actions = { add; show; }
        default_action = add();
        registers = sums;
        size = 4;
    }

    table lpm_table {
        key = { hdr.data.a: lpm; }
        actions = { compare; NoAction; }
        default_action = NoAction();
        registers = least;
        size = 16;
    }

    table ternary_table {
        key = { hdr.data.index: ternary; }
        actions = { exchange; NoAction; }
        default_action = NoAction();
        registers = last;
        meters = meter;
        size = 16;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        switch (hdr.data.op) {
            1: { exact_table.apply(); }
            2: { lpm_table.apply(); }
            3: { ternary_table.apply(); }
            4: { hdr.data.result = next.execute(); }
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

struct egress_headers_t { }
struct egress_metadata_t { }

parser OutParser(packet_in pkt, out egress_headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control Out(inout egress_headers_t hdr, inout egress_metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control OutDeparser(packet_out pkt, inout egress_headers_t hdr, in egress_metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply { }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;
Switch(pipe) main;
