// Ports of a Tofino under a controller that has 32 bits for them, and copies to its CPU.

#include <core.p4>
#include <tna.p4>

@p4runtime_translation("tna/PortId_t", 32)
type bit<9> port_t;

@controller_header("packet_in")
header packet_in_t {
    port_t ingress_port;
    @padding bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    port_t egress_port;
    @padding bit<7> pad;
}

header bridge_t {
    bit<7> pad;
    bit<9> port;
}

header data_t {
    bit<8> op;
    bit<8> seen;
}

struct headers_t {
    bridge_t     bridge;
    packet_in_t  packet_in;
    packet_out_t packet_out;
    data_t       data;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        transition select(ig_intr_md.ingress_port) {
            320: from_cpu;
            default: from_port;
        }
    }
    state from_cpu {
        pkt.extract(hdr.packet_out);
        transition accept;
    }
    state from_port {
        pkt.extract(hdr.data);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    port_t ig_port = (port_t) ig_intr_md.ingress_port;

    action forward(port_t port) { ig_tm_md.ucast_egress_port = (PortId_t) port; }

    table ports {
        key = { ig_port : exact @name("ig_port"); }
        actions = { forward; NoAction; }
        const default_action = NoAction();
    }

    action mark(bit<8> seen) { hdr.data.seen = seen; }
    action punt() { ig_tm_md.copy_to_cpu = 1; ig_dprsr_md.drop_ctl = 1; }

    table acl {
        key = { ig_port : ternary @name("ig_port"); hdr.data.op : ternary @name("op"); }
        actions = { mark; punt; NoAction; }
        const default_action = NoAction();
    }

    apply {
        hdr.bridge.setValid();
        hdr.bridge.port = ig_intr_md.ingress_port;
        if (hdr.packet_out.isValid()) {
            ig_tm_md.ucast_egress_port = (PortId_t) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            hdr.bridge.setInvalid();
            ig_tm_md.bypass_egress = 1;
        } else {
            ports.apply();
            acl.apply();
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply { pkt.emit(hdr.bridge); pkt.emit(hdr.data); }
}

parser OutParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.bridge);
        transition accept;
    }
}

control Out(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        if (eg_intr_md.egress_port == 320) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (port_t) hdr.bridge.port;
        }
        hdr.bridge.setInvalid();
    }
}

control OutDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply { pkt.emit(hdr.packet_in); pkt.emit(hdr.bridge); }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
