// The parts of a PSA program that a test does not care about. The program defines `headers_t`, `metadata_t`, `none_t` without fields, the
// ingress parser `InParser` and the ingress control `In` before it includes this. What `In` has in `hdr` is sent; egress changes nothing.

control InDeparser(packet_out packet, out none_t cloned, out none_t resubmitted, out none_t normal,
                   inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr);
    }
}

parser OutParser(packet_in packet, out none_t hdr, inout metadata_t meta, in psa_egress_parser_input_metadata_t istd,
                 in none_t normal, in none_t cloned, in none_t again) {
    state start {
        transition accept;
    }
}

control Out(inout none_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply { }
}

control OutDeparser(packet_out packet, out none_t cloned, out none_t again, inout none_t hdr, in metadata_t meta,
                    in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply { }
}

IngressPipeline(InParser(), In(), InDeparser()) ingress;
EgressPipeline(OutParser(), Out(), OutDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
