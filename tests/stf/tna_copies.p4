// TNA: what the traffic manager copies, and what exclusion ids leave out.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> op;
    bit<8> a;                // a port, or a group
    bit<8> b;                // an exclusion id, another group, or a port
    bit<8> c;                // a replication id, or whether the CPU has a copy
}

// From ingress to egress, in front of the packet.
header bridge_t {
    bit<8> value;
}

// Written by egress.
header trace_t {
    bit<8>  value;
    bit<16> port;
    bit<16> rid;
}

struct headers_t {
    bridge_t bridge;
    data_t   data;
    trace_t  trace;
}

struct metadata_t {
    bit<8> value;
}

struct no_metadata_t { }

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
        md.value = 0x40 + hdr.data.op;
        switch (hdr.data.op) {
            0x01: { ig_tm_md.ucast_egress_port = (PortId_t) hdr.data.a; ig_tm_md.copy_to_cpu = 1; }
            0x02: { ig_tm_md.copy_to_cpu = 1; }
            0x03: {
                ig_tm_md.ucast_egress_port = (PortId_t) hdr.data.a;
                ig_tm_md.copy_to_cpu = 1;
                ig_dprsr_md.drop_ctl = 2;           // no copy to the CPU
            }
            0x04: {
                ig_tm_md.ucast_egress_port = (PortId_t) hdr.data.a;
                ig_tm_md.copy_to_cpu = 1;
                ig_dprsr_md.drop_ctl = 1;           // nothing else
            }
            0x05: {
                ig_tm_md.mcast_grp_a = (bit<16>) hdr.data.a;
                ig_tm_md.level1_exclusion_id = (bit<16>) hdr.data.b;
            }
            0x06: {
                ig_tm_md.mcast_grp_a = (bit<16>) hdr.data.a;
                ig_tm_md.level2_exclusion_id = (bit<9>) hdr.data.b;
                ig_tm_md.rid = (bit<16>) hdr.data.c;
            }
            0x07: { ig_tm_md.ucast_egress_port = (PortId_t) hdr.data.a; }
            0x08: {
                ig_tm_md.mcast_grp_a = (bit<16>) hdr.data.a;
                ig_tm_md.mcast_grp_b = (bit<16>) hdr.data.b;
            }
            0x09: {
                ig_tm_md.mcast_grp_a = (bit<16>) hdr.data.a;
                ig_tm_md.ucast_egress_port = (PortId_t) hdr.data.b;
                ig_tm_md.copy_to_cpu = hdr.data.c[0:0];
            }
            0x0a: {
                ig_tm_md.mcast_grp_a = (bit<16>) hdr.data.a;
                ig_tm_md.copy_to_cpu = 1;
            }
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        hdr.bridge.value = md.value;
        pkt.emit(hdr.bridge);
        pkt.emit(hdr.data);
    }
}

parser OutParser(packet_in pkt, out headers_t hdr, out no_metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.bridge);
        pkt.extract(hdr.data);
        transition accept;
    }
}

control Out(inout headers_t hdr, inout no_metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        hdr.trace.setValid();
        hdr.trace = {hdr.bridge.value, (bit<16>) eg_intr_md.egress_port, eg_intr_md.egress_rid};
    }
}

control OutDeparser(packet_out pkt, inout headers_t hdr, in no_metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        pkt.emit(hdr.data);
        pkt.emit(hdr.trace);
    }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
