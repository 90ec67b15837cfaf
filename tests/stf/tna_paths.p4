// TNA: all ways of a packet from ingress to egress and back, with the metadata that go with it.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> op;
    bit<8> a;                // a port, or a group
    bit<8> b;                // a mirror session, or a value
    bit<8> c;
}

// From ingress to egress, in front of the packet.
header bridge_t {
    bit<8> tag;
    bit<8> value;
}

header mirrored_t {
    bit<8> tag;
    bit<8> value;
}

header resubmitted_t {
    bit<8>  value;
    bit<56> padding;
}

// Written by egress.
header trace_t {
    bit<8>  way;
    bit<8>  value;
    bit<16> port;
    bit<16> rid;
    bit<16> length;
    bit<8>  qid;
}

struct ports_t {
    bit<32> name;
    bit<32> rest;
}

struct headers_t {
    bridge_t bridge;
    data_t   data;
    trace_t  trace;
}

struct metadata_t {
    resubmitted_t resubmitted;
    ports_t       port;
    bit<10>       session;
    bit<8>        value;
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
        pkt.extract(md.resubmitted);
        transition data;
    }

    state received {
        md.port = port_metadata_unpack<ports_t>(pkt);
        transition data;
    }

    state data {
        pkt.extract(hdr.data);
        transition select(hdr.data.op) {
            0x0f: reject;
            0x00 .. 0x1e: accept;
        }
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action send(PortId_t port) {
        ig_tm_md.ucast_egress_port = port;
    }

    action send_and_exit(PortId_t port) {
        send(port);
        exit;
    }

    table exits {
        key = { hdr.data.op: exact; }
        actions = { send_and_exit; NoAction; }
        default_action = NoAction();
    }

    apply {
        exits.apply();
        PortId_t port = (PortId_t) hdr.data.a;
        hdr.bridge.setValid();
        hdr.bridge.tag = 0;
        hdr.bridge.value = 0x11;
        if (ig_intr_md.resubmit_flag == 1) {
            hdr.data.b = 0x55;
            hdr.data.c = md.resubmitted.value;
            send(port);
            return;
        }
        switch (hdr.data.op) {
            0x01: { send(port); ig_tm_md.qid = 3; }
            0x02: { ig_tm_md.mcast_grp_a = (bit<16>) hdr.data.a; }
            0x03: {
                send(port);
                ig_dprsr_md.mirror_type = 1;
                md.session = (bit<10>) hdr.data.b;
                md.value = hdr.data.c;
                hdr.data.c = 0;           // the copy is as the packet was received
            }
            0x04: {
                ig_dprsr_md.resubmit_type = 2;
                md.value = hdr.data.b + 1;
                hdr.data.a = 0;           // forgotten
            }
            0x05: { send(68); }
            0x06: { send(port); }
            0x07: { send(port); ig_dprsr_md.drop_ctl = 1; }
            0x08: { send(port); exit; }
            0x09: { send(port); invalidate(ig_tm_md.ucast_egress_port); }
            0x0a: { send(port); ig_tm_md.bypass_egress = 1; hdr.bridge.setInvalid(); }
            0x0b: {
                ig_dprsr_md.drop_ctl = 1;
                ig_dprsr_md.mirror_type = 1;
                md.session = (bit<10>) hdr.data.b;
            }
            0x0c: { send((bit<9>) md.port.name[8:0]); }
            0x0e: { send(7); }
            0x10: { send(133); }
        }
        // Came back from egress.
        if (ig_intr_md.ingress_port == 68 || ig_intr_md.ingress_port == 9) {
            hdr.data.c = (bit<8>) ig_intr_md.ingress_port;
            send(2);
        }
        hdr.data.b = hdr.data.b | 0x80;
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror(1) mirror;
    Resubmit(2) resubmit;

    apply {
        if (ig_dprsr_md.mirror_type == 1) {
            mirror.emit<mirrored_t>(md.session, {1, md.value});
        }
        if (ig_dprsr_md.resubmit_type == 2) {
            resubmit.emit<resubmitted_t>({md.value, 0});
        }
        pkt.emit(hdr.bridge);
        pkt.emit(hdr.data);
    }
}

struct egress_metadata_t {
    mirrored_t mirrored;
    bit<10>    session;
}

parser OutParser(packet_in pkt, out headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        bit<8> tag = pkt.lookahead<bit<8>>();
        transition select(tag) {
            0: bridged;
            1: mirrored;
            2: mirrored_again;
        }
    }

    state bridged {
        pkt.extract(hdr.bridge);
        pkt.extract(hdr.data);
        transition accept;
    }

    state mirrored {
        pkt.extract(md.mirrored);
        pkt.extract(hdr.data);
        transition accept;
    }

    state mirrored_again {
        pkt.extract(md.mirrored);
        pkt.extract(hdr.data);
        pkt.extract(hdr.trace);
        transition accept;
    }
}

control Out(inout headers_t hdr, inout egress_metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        bit<8> way = 1;
        bit<8> value = hdr.bridge.value;
        if (md.mirrored.isValid()) {
            way = 1 + md.mirrored.tag;
            value = md.mirrored.value;
        } else if (hdr.data.op == 0x06) {
            eg_dprsr_md.mirror_type = 2;
            eg_dprsr_md.drop_ctl = 1;
            md.session = (bit<10>) (hdr.data.b & 0x7f);
        }
        hdr.bridge.setInvalid();
        if (hdr.data.op == 0x05 || hdr.data.op == 0x0e) {
            hdr.data.op = 0x1e;      // goes round once
            return;
        }
        hdr.trace.setValid();
        hdr.trace = {way, value, (bit<16>) eg_intr_md.egress_port, eg_intr_md.egress_rid, eg_intr_md.pkt_length,
                     (bit<8>) eg_intr_md.egress_qid};
    }
}

control OutDeparser(packet_out pkt, inout headers_t hdr, in egress_metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Mirror(2) mirror;

    apply {
        if (eg_dprsr_md.mirror_type == 2) {
            mirror.emit<mirrored_t>(md.session, {2, hdr.data.c});
        }
        pkt.emit(hdr.data);
        pkt.emit(hdr.trace);
    }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
