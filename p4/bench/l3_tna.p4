// The IPv4 router of l3.p4 for Tofino: the same checks, table and actions.

#include <core.p4>
#include <tna.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

struct meta_t {
    bool checksum_error;
}

struct no_headers_t {}

struct no_meta_t {}

parser Parse(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() checksum;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        checksum.add(hdr.ipv4);
        meta.checksum_error = checksum.verify();
        transition select(hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (5, PROTOCOL_TCP): ports;
            (5, PROTOCOL_UDP): ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t intrinsic,
                      in ingress_intrinsic_metadata_from_parser_t from_parser,
                      inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                      inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    action drop() {
        for_deparser.drop_ctl = 1;
    }
    action next_hop(port_t port, mac_t src, mac_t dst) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        for_tm.ucast_egress_port = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { next_hop; drop; }
        default_action = drop();
        size = 1048576;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl > 1
                && !meta.checksum_error) {
            routes.apply();
        } else {
            drop();
        }
    }
}

control Deparse(packet_out packet, inout headers_t hdr, in meta_t meta,
                in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Checksum() checksum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = checksum.update(IPV4_CHECKED(hdr.ipv4));
        }
        packet.emit(hdr);
    }
}

parser EgressParse(packet_in packet, out no_headers_t hdr, out no_meta_t meta,
                   out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control SwitchEgress(inout no_headers_t hdr, inout no_meta_t meta, in egress_intrinsic_metadata_t intrinsic,
                     in egress_intrinsic_metadata_from_parser_t from_parser,
                     inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                     inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply {}
}

control EgressDeparse(packet_out packet, inout no_headers_t hdr, in no_meta_t meta,
                      in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {}
}

Pipeline(Parse(), SwitchIngress(), Deparse(), EgressParse(), SwitchEgress(), EgressDeparse()) pipe;

Switch(pipe) main;
