// TNA: values that are smoothed over time, and drops by them.

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
    Lpf<bit<32>, bit<8>>(8) filter;
    Wred<bit<16>, bit<8>>(8, 9, 1) early;
    DirectLpf<bit<16>>() direct_filter;
    DirectWred<bit<32>>(7, 0) direct_early;

    action smooth() {
        hdr.data.result = (bit<32>) direct_filter.execute(hdr.data.a);
    }

    action decide() {
        hdr.data.result = (bit<32>) direct_early.execute((bit<32>) hdr.data.a);
    }

    table smoothed {
        key = { hdr.data.index: exact; }
        actions = { smooth; NoAction; }
        default_action = NoAction();
        filters = direct_filter;
        size = 4;
    }

    table decided {
        key = { hdr.data.index: ternary; }
        actions = { decide; NoAction; }
        default_action = NoAction();
        filters = direct_early;
        size = 4;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        switch (hdr.data.op) {
            1: { hdr.data.result = filter.execute((bit<32>) hdr.data.a, hdr.data.index); }
            2: { hdr.data.result = (bit<32>) early.execute(hdr.data.a, hdr.data.index); }
            3: { smoothed.apply(); }
            4: { decided.apply(); }
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
