// Tofino 2: ingress and egress cut packets off, each behind as many bytes as the packet says.

#include <core.p4>
#include <t2na.p4>

header cut_t {
    bit<8> port;
    bit<8> ingress;
    bit<8> egress;
    bit<8> length;           // written by egress: how long the packet was
}

struct headers_t {
    cut_t cut;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.cut);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = (PortId_t) hdr.cut.port;
        ig_dprsr_md.mtu_trunc_len = (bit<14>) hdr.cut.ingress;
        if (hdr.cut.port == 3) {
            ig_tm_md.bypass_egress = 1;
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

parser OutParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.cut);
        transition accept;
    }
}

control Out(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        eg_dprsr_md.mtu_trunc_len = (bit<14>) hdr.cut.egress;
        hdr.cut.length = (bit<8>) eg_intr_md.pkt_length;
    }
}

control OutDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
