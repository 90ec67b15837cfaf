// PSA: packets that grow in ingress, in egress and each time they are recirculated.

#include <core.p4>
#include <psa.p4>

header data_t { bit<8> rounds; }
header long_t { bit<1200> x; }

struct in_headers_t {
    data_t data;
    long_t long;
}

struct out_headers_t {
    data_t data;
    long_t carried;
    long_t long;
}

struct empty_t {}

parser InParser(packet_in packet, out in_headers_t hdr, inout empty_t meta,
                in psa_ingress_parser_input_metadata_t istd, in empty_t resubmitted, in empty_t recirculated) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control In(inout in_headers_t hdr, inout empty_t meta, in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    apply {
        hdr.long.setValid();
        hdr.long.x = 1;
        if (hdr.data.rounds != 0) {
            hdr.data.rounds = hdr.data.rounds - 1;
            send_to_port(ostd, PSA_PORT_RECIRCULATE);
        } else {
            send_to_port(ostd, (PortId_t) 32w2);
        }
    }
}

control InDeparser(packet_out packet, out empty_t clone, out empty_t resubmit, out empty_t normal, inout in_headers_t hdr,
                   in empty_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr);
    }
}

parser OutParser(packet_in packet, out out_headers_t hdr, inout empty_t meta, in psa_egress_parser_input_metadata_t istd,
                 in empty_t normal, in empty_t clone_i2e, in empty_t clone_e2e) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.carried);
        transition accept;
    }
}

control Out(inout out_headers_t hdr, inout empty_t meta, in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.carried.x = hdr.carried.x + 1;
        hdr.long.setValid();
        hdr.long.x = 4;
    }
}

control OutDeparser(packet_out packet, out empty_t clone, out empty_t recirculated, inout out_headers_t hdr,
                    in empty_t meta, in psa_egress_output_metadata_t istd,
                    in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr);
    }
}

IngressPipeline(InParser(), In(), InDeparser()) ingress;
EgressPipeline(OutParser(), Out(), OutDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
