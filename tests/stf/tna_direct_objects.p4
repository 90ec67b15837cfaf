// TNA: direct counters and meters that do not count all bytes; cells of entries that refer to an action profile; a table
// that says how hardware finds its entries.

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
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) counts;
    DirectMeter(MeterType_t.BYTES) meter;

    action all_bytes() {
        counts.count();
    }

    action without_a() {
        counts.count((bit<32>) hdr.data.a);
    }

    table counted {
        key = { hdr.data.index: exact; }
        actions = { all_bytes; without_a; NoAction; }
        default_action = without_a();
        counters = counts;
        size = 4;
    }

    action measure() {
        hdr.data.result = (bit<32>) meter.execute();
    }

    action measure_without_a() {
        hdr.data.result = (bit<32>) meter.execute((MeterColor_t) hdr.data.result[7:0], (bit<32>) hdr.data.a);
    }

    table metered {
        key = { hdr.data.index: ternary; }
        actions = { measure; measure_without_a; NoAction; }
        default_action = measure();
        meters = meter;
        size = 4;
    }

    Alpm(number_partitions = 1024) algorithm;

    action found(bit<32> value) {
        hdr.data.result = value;
    }

    table prefixes {
        key = { hdr.data.a: lpm; }
        actions = { found; NoAction; }
        default_action = NoAction();
        implementation = algorithm;
        size = 16;
    }

    // All that an entry of a table with an action selector may have.
    Hash<bit<8>>(HashAlgorithm_t.IDENTITY) hash;
    ActionProfile(16) profile;
    ActionSelector(profile, hash, SelectorMode_t.FAIR, 8, 4) selector;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(MeterType_t.PACKETS) rate;
    DirectRegister<bit<16>>(3) sums;
    DirectLpf<bit<16>>() smooth;

    DirectRegisterAction<bit<16>, bit<16>>(sums) add = {
        void apply(inout bit<16> value, out bit<16> sum) {
            value = value + hdr.data.a;
            sum = value;
        }
    };

    action sum(bit<8> member) {
        hdr.data.result = 8w0 ++ member ++ add.execute();
        hits.count(2);
    }

    action average(bit<8> member) {
        hdr.data.result = rate.execute() ++ member ++ smooth.execute(hdr.data.a);
    }

    action miss() {
        hdr.data.result = 16w0xffff ++ add.execute();
    }

    table selected {
        key = {
            hdr.data.index: exact;
            hdr.data.op: selector;
        }
        actions = { sum; average; @defaultonly miss; }
        default_action = miss();
        implementation = selector;
        counters = hits;
        meters = rate;
        registers = sums;
        filters = smooth;
        size = 4;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        switch (hdr.data.op) {
            1: { counted.apply(); }
            2: { metered.apply(); }
            3: { prefixes.apply(); }
            default: { selected.apply(); }
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
