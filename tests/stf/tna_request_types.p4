// TNA: a type of a request that is zero counts only if it was written.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> op;
    bit<8> value;
}

header mark_t {
    bit<8>  value;
    bit<56> padding;
}

header copied_t {
    bit<8> value;
}

struct headers_t {
    copied_t copied;
    data_t   data;
}

struct metadata_t {
    mark_t  mark;
    bit<10> session;
}

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        transition select(ig_intr_md.resubmit_flag) {
            1: resubmitted;
            default: received;
        }
    }
    state resubmitted {
        pkt.extract(md.mark);
        transition data;
    }
    state received {
        pkt.advance(PORT_METADATA_SIZE);
        transition data;
    }
    state data {
        pkt.extract(hdr.data);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action again() {
        ig_dprsr_md.resubmit_type = 0;
    }
    action copy() {
        ig_dprsr_md.mirror_type = 0;
        md.session = 5;
    }
    action other() {
        ig_dprsr_md.resubmit_type = 3;
    }
    table ops {
        key = { hdr.data.op: exact; }
        actions = { again; copy; other; NoAction; }
        default_action = NoAction();
        const entries = {
            1: again();
            2: copy();
            3: other();
        }
    }
    apply {
        ig_tm_md.ucast_egress_port = 2;
        ig_tm_md.bypass_egress = 1;
        if (ig_intr_md.resubmit_flag == 1) {
            hdr.data.value = md.mark.value;
        } else {
            ops.apply();
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror(0) mirror;
    Resubmit(0) resubmit;

    apply {
        if (ig_dprsr_md.resubmit_type == 0) {
            resubmit.emit<mark_t>({0xaa, 0});
        } else if (ig_dprsr_md.resubmit_type == 3) {
            resubmit.emit<mark_t>({0xbb, 0});
        }
        if (ig_dprsr_md.mirror_type == 0) {
            mirror.emit<copied_t>(md.session, {0xcc});
        }
        pkt.emit(hdr);
    }
}

parser OutParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.copied);
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
