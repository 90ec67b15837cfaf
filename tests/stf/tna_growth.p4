// TNA: packets that grow in ingress, more in egress, and as mirrored copies.

#include <core.p4>
#include <tna.p4>

header data_t { bit<8> op; }
header long_t { bit<960> x; }
header mirrored_t { bit<8> tag; }

struct headers_t {
    data_t data;
    long_t bridge;
    long_t first;
    long_t second;
}

struct metadata_t {
    bit<10>    session;
    mirrored_t mirrored;
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
    apply {
        hdr.bridge.setValid();
        hdr.bridge.x = 1;
        if (hdr.data.op == 1) {
            ig_tm_md.mcast_grp_a = 1;
        } else {
            ig_tm_md.ucast_egress_port = 2;
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        pkt.emit(hdr.data);
        pkt.emit(hdr.bridge);
    }
}

parser OutParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition select(pkt.lookahead<bit<8>>()) {
            0xff: mirrored;
            default: data;
        }
    }

    state mirrored {
        pkt.extract(md.mirrored);
        transition data;
    }

    state data {
        pkt.extract(hdr.data);
        pkt.extract(hdr.bridge);
        transition accept;
    }
}

control Out(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        hdr.first.setValid();
        hdr.first.x = 2;
        if (eg_intr_md.egress_port != 3) {
            hdr.second.setValid();
            hdr.second.x = 3;
        }
        if (hdr.data.op == 2 && !md.mirrored.isValid()) {
            eg_dprsr_md.mirror_type = 1;
            md.session = 5;
        }
    }
}

control OutDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Mirror(1) mirror;

    apply {
        if (eg_dprsr_md.mirror_type == 1) {
            mirror.emit<mirrored_t>(md.session, {0xff});
        }
        pkt.emit(hdr.data);
        pkt.emit(hdr.bridge);
        pkt.emit(hdr.first);
        pkt.emit(hdr.second);
    }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
