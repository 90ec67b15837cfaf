// PSA: all ways of a packet from ingress to egress and back, with the metadata that go with it.

#include <core.p4>
#include <psa.p4>

header data_t {
    bit<8> op;
    bit<8> a;                // a port, or a group
    bit<8> b;                // a clone session, or a value
    bit<8> c;
}

// Written by egress.
header trace_t {
    bit<8>  path;
    bit<32> port;
    bit<16> instance;
    bit<8>  class;
    bit<8>  value;
}

struct headers_t {
    data_t  data;
    trace_t trace;
}

struct metadata_t { bit<8> value; }
struct carried_t { bit<8> value; }

bit<8> number(in PSA_PacketPath_t path) {
    if (path == PSA_PacketPath_t.NORMAL_UNICAST) { return 1; }
    if (path == PSA_PacketPath_t.NORMAL_MULTICAST) { return 2; }
    if (path == PSA_PacketPath_t.CLONE_I2E) { return 3; }
    if (path == PSA_PacketPath_t.CLONE_E2E) { return 4; }
    if (path == PSA_PacketPath_t.RESUBMIT) { return 5; }
    if (path == PSA_PacketPath_t.RECIRCULATE) { return 6; }
    return 0;
}

parser InParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                in psa_ingress_parser_input_metadata_t istd, in carried_t resubmitted, in carried_t recirculated) {
    state start {
        packet.extract(hdr.data);
        meta.value = resubmitted.value + recirculated.value;
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    action send_and_exit(bit<32> port) {
        send_to_port(ostd, (PortId_t) port);
        exit;
    }

    table exits {
        key = { hdr.data.op: exact; }
        actions = { send_and_exit; NoAction; }
        default_action = NoAction();
    }

    apply {
        exits.apply();
        bit<32> port = (bit<32>) hdr.data.a;
        if (istd.packet_path == PSA_PacketPath_t.RESUBMIT || istd.packet_path == PSA_PacketPath_t.RECIRCULATE) {
            hdr.data.b = number(istd.packet_path);
            hdr.data.c = meta.value;
            if (istd.packet_path == PSA_PacketPath_t.RECIRCULATE
                && (PortIdUint_t) istd.ingress_port != (PortIdUint_t) PSA_PORT_RECIRCULATE) {
                hdr.data.c = 0xff;
            }
            send_to_port(ostd, (PortId_t) port);
            return;
        }
        ostd.class_of_service = (ClassOfService_t) (ClassOfServiceUint_t) 5;
        switch (hdr.data.op) {
            0x01: { send_to_port(ostd, (PortId_t) port); }
            0x02: { multicast(ostd, (MulticastGroup_t) port); }
            0x03: {
                send_to_port(ostd, (PortId_t) port);
                ostd.clone = true;
                ostd.clone_session_id = (CloneSessionId_t) (bit<16>) hdr.data.b;
                meta.value = hdr.data.c;
                hdr.data.c = 0;      // the copy is as the packet was received
            }
            0x04: {
                ostd.drop = false;
                ostd.resubmit = true;
                meta.value = hdr.data.b + 1;
                hdr.data.a = 0;      // forgotten
            }
            0x05: { send_to_port(ostd, PSA_PORT_RECIRCULATE); }
            0x06: { send_to_port(ostd, (PortId_t) port); }
            0x08: { send_to_port(ostd, (PortId_t) port); exit; }
            0x09: { send_to_port(ostd, (PortId_t) port); }
            0x0a: { send_to_port(ostd, PSA_PORT_CPU); }
            0x0b: {
                ingress_drop(ostd);
                ostd.clone = true;
                ostd.clone_session_id = (CloneSessionId_t) (bit<16>) hdr.data.b;
                ostd.multicast_group = (MulticastGroup_t) 1;
            }
            0x0c: { send_to_port(ostd, (PortId_t) 0x10000); }
        }
        hdr.data.b = hdr.data.b | 0x80;
    }
}

control InDeparser(packet_out packet, out carried_t cloned, out carried_t resubmitted, out carried_t normal,
                   inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_clone_i2e(istd)) {
            cloned.value = meta.value;
        }
        if (psa_resubmit(istd)) {
            resubmitted.value = meta.value;
        }
        if (psa_normal(istd)) {
            bit<8> sum = hdr.data.a + 1;
            normal.value = sum;
        }
        packet.emit(hdr.data);
    }
}

parser OutParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 in psa_egress_parser_input_metadata_t istd, in carried_t normal, in carried_t cloned,
                 in carried_t cloned_again) {
    state start {
        packet.extract(hdr.data);
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: clone;
            PSA_PacketPath_t.CLONE_E2E: clone_again;
            default: other;
        }
    }

    state clone {
        meta.value = cloned.value;
        transition accept;
    }

    state clone_again {
        packet.extract(hdr.trace);
        meta.value = cloned_again.value;
        transition accept;
    }

    state other {
        meta.value = normal.value;
        transition accept;
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply {
        if (hdr.data.op == 9) {
            egress_drop(ostd);
            return;
        }
        if (istd.packet_path != PSA_PacketPath_t.CLONE_E2E && hdr.data.op == 6) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t) (bit<16>) (hdr.data.b & 0x7f);
            egress_drop(ostd);       // does not concern the copy
        }
        if ((PortIdUint_t) istd.egress_port == (PortIdUint_t) PSA_PORT_RECIRCULATE) {
            return;
        }
        hdr.trace.setValid();
        hdr.trace.path = number(istd.packet_path);
        hdr.trace.port = (PortIdUint_t) istd.egress_port;
        hdr.trace.instance = (EgressInstanceUint_t) istd.instance;
        hdr.trace.class = (ClassOfServiceUint_t) istd.class_of_service;
        hdr.trace.value = meta.value;
    }
}

control OutDeparser(packet_out packet, out carried_t cloned, out carried_t recirculated, inout headers_t hdr,
                    in metadata_t meta, in psa_egress_output_metadata_t istd,
                    in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_clone_e2e(istd)) {
            cloned.value = hdr.data.c;
        }
        if (psa_recirculate(istd, edstd)) {
            recirculated.value = hdr.data.c + 2;
        }
        packet.emit(hdr.data);
        packet.emit(hdr.trace);
    }
}

PSA_Switch(IngressPipeline(InParser(), In(), InDeparser()), PacketReplicationEngine(),
           EgressPipeline(OutParser(), Out(), OutDeparser()), BufferingQueueingEngine()) main;
