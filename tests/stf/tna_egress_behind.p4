// A parser of egress that does not extract the intrinsic metadata begins behind them. Errors of the parser are bits.

#include <core.p4>
#include <tna.p4>

header bridge_t {
    bit<16> port;
}

header data_t {
    bit<16> errors;          // written by ingress
    bit<8>  seen;            // written by egress
}

header more_t {
    bit<64> bits;
}

struct headers_t {
    bridge_t bridge;
    data_t   data;
    more_t   more;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition select(hdr.data.errors) {
            1: more;
            2: none;
            default: accept;
        }
    }
    state more {
        pkt.extract(hdr.more);
        transition accept;
    }
    state none {
        transition select(hdr.data.seen) {
            1: accept;
            2: reject;
        }
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port + 1;
        hdr.data.errors = ig_prsr_md.parser_err;
        hdr.bridge.setValid();
        hdr.bridge.port = (bit<16>) ig_intr_md.ingress_port;
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

parser OutParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    bridge_t bridge;
    state start {
        pkt.extract(bridge);
        pkt.extract(hdr.data);
        hdr.data.seen = bridge.port[7:0];
        transition accept;
    }
}

control Out(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control OutDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
