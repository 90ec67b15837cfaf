// The parts of a Tofino pipe that a test does not care about. The program defines `headers_t` with a field `data`, which every packet has,
// `metadata_t`, and the ingress control `In` before it includes this. Packets leave by the port that `In` chooses.

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition accept;
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
