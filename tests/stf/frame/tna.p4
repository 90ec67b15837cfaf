// The parts of a Tofino program that a test does not care about: packets leave as ingress deparses them. The program defines `headers_t`,
// `metadata_t`, `InParser` and `In` before it includes this.

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

struct none_t { }

parser OutParser(packet_in pkt, out none_t hdr, out none_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control Out(inout none_t hdr, inout none_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control OutDeparser(packet_out pkt, inout none_t hdr, in none_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply { }
}

#ifndef GHOST
#define GHOST
#endif

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser() GHOST) pipe;

Switch(pipe) main;
