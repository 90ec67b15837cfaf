// The fast path of a RINA border router: two levels of DIFs, over Ethernet, VLANs and UDP over IPv4.
//
//   border_parser.p4   frame -> one or two EFCP headers       border_packet.p4   headers, metadata
//   reasons.p4         what becomes of a packet, and why        border_queues.p4   egress queues, congestion marks
//
// A link carries the PDUs of a DIF. A next hop of a DIF is a neighbour at a link, or an (N-1) flow: a flow of another
// DIF, which carries whole PDUs as its SDUs. So a PDU of the upper DIF that leaves by an (N-1) flow gets a header of the lower DIF in
// front, whose destination is looked up among the lower DIF's next hops, which are links. Where an (N-1) flow ends that
// header is removed, and the PDU inside is forwarded in the upper DIF. PDUs of the lower DIF that go elsewhere are
// relayed as by an interior router.
//
// (N-1) flows have no retransmission. A congestion mark of the lower DIF becomes one of the upper DIF where the flow
// ends; so does CE of the IPv4 header.
//
// Layer management and PDUs to the router's own addresses are punted unmodified, with the ingress port and the reason. All
// PDUs have the syntax with a header checksum.

#include <core.p4>
#include <v1model.p4>
#include <internet_checksum.p4>

#include "reasons.p4"
#include "headers.p4"
#include "border_packet.p4"
#include "border_parser.p4"
#include "border_queues.p4"

#define NEXT_HOPS 65536
#define FLOWS 4096

const bit<16> ONE_HEADER = 20;
const bit<8> IPV4_TTL = 64;
const bit<2> ECT = 0b10;
const bit<2> CE = 0b11;

control VerifyChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id,
                          hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.offset,
                          hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.outer.isValid(),
                        { hdr.outer.version, hdr.outer.dst, hdr.outer.src, hdr.outer.qos_id, hdr.outer.dst_cep,
                          hdr.outer.src_cep, hdr.outer.type, hdr.outer.flags, hdr.outer.length, hdr.outer.sequence },
                        hdr.outer.checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.pdu.isValid(),
                        { hdr.pdu.version, hdr.pdu.dst, hdr.pdu.src, hdr.pdu.qos_id, hdr.pdu.dst_cep,
                          hdr.pdu.src_cep, hdr.pdu.type, hdr.pdu.flags, hdr.pdu.length, hdr.pdu.sequence },
                        hdr.pdu.checksum, HashAlgorithm.csum16);
    }
}

// By which link a packet came, and whether its PDUs are well formed.
control Receive(in headers_t hdr, inout meta_t meta, in standard_metadata_t std) {
    action receive(mac_t mac, bit<16> dif) {
        meta.mac = mac;
        meta.dif = dif;
    }

    action end(bit<8> reason) {
        meta.reason = (Reason) reason;
    }

    // Ethernet and VLANs.
    table links {
        key = {
            std.ingress_port: exact @name("port");
            meta.vlan: exact @name("vlan");
        }
        actions = { receive; @defaultonly end; }
        const default_action = end((bit<8>) Reason.UNKNOWN_LINK);
        size = 4096;
    }

    // UDP over IPv4. The frame is addressed to the link that it came by, which is in `links`.
    action carry(bit<16> dif) {
        meta.dif = dif;
    }

    table udp_links {
        key = {
            hdr.ipv4.src: exact @name("src");
            hdr.ipv4.dst: exact @name("dst");
            hdr.udp.src: exact @name("src_port");
            hdr.udp.dst: exact @name("dst_port");
        }
        actions = { carry; @defaultonly end; }
        const default_action = end((bit<8>) Reason.SHIM);
        size = 4096;
    }

    apply {
        if (!hdr.ethernet.isValid()) {
            meta.reason = Reason.MALFORMED;
            return;
        }
        links.apply();
        if (meta.reason != Reason.FORWARDED) {
            return;
        }
        if (hdr.ethernet.dst != meta.mac && hdr.ethernet.dst[40:40] == 0) {
            meta.reason = Reason.OTHER_MAC;
            return;
        }
        if (std.parser_error != error.NoError) {
            meta.reason = Reason.MALFORMED;
            return;
        }
        if (hdr.ipv4.isValid()) {
            if (!hdr.pdu.isValid()) {
                meta.reason = Reason.SHIM;
                return;
            }
            udp_links.apply();
            if (meta.reason != Reason.FORWARDED) {
                return;
            }
        } else if (!hdr.pdu.isValid()) {
            bit<16> type = hdr.vlan.isValid() ? hdr.vlan.type : hdr.ethernet.type;
            meta.reason = type == TYPE_ARP ? Reason.ARP : Reason.UNKNOWN_TYPE;
            return;
        }
        if (std.checksum_error == 1) {
            meta.reason = Reason.BAD_CHECKSUM;
            return;
        }
        // The inner PDU ends where the outer one does.
        if (hdr.pdu.length < ONE_HEADER || hdr.outer.isValid() && hdr.outer.length - ONE_HEADER != hdr.pdu.length) {
            meta.reason = Reason.MALFORMED;
            return;
        }
        bit<32> bytes = hdr.outer.isValid() ? (bit<32>) hdr.outer.length : (bit<32>) hdr.pdu.length;
        if (bytes > meta.efcp_bytes || hdr.outer.isValid() && hdr.outer.length < 2 * ONE_HEADER
            || hdr.udp.isValid() && (bit<32>) hdr.udp.length < UDP_BYTES + bytes) {
            meta.reason = Reason.MALFORMED;
            return;
        }
        if (hdr.pdu.version != EFCP_VERSION || hdr.outer.isValid() && hdr.outer.version != EFCP_VERSION) {
            meta.reason = Reason.UNKNOWN_VERSION;
        }
    }
}

// Where an (N-1) flow ends: removes its header.
control Decapsulate(inout headers_t hdr, inout meta_t meta) {
    // By number of the end.
    counter(FLOWS, CounterType.packets_and_bytes) decapsulated;

    action carried(bit<16> dif, bit<16> flow_end) {
        meta.dif = dif;
        decapsulated.count((bit<32>) flow_end);
    }

    action unknown() {
        meta.reason = Reason.NO_DESTINATION;
    }

    // The DIF whose PDUs the flow carries.
    table ends {
        key = {
            meta.dif: exact @name("dif");
            hdr.outer.dst: exact @name("dst");
            hdr.outer.dst_cep: exact @name("dst_cep");
            hdr.outer.src: exact @name("src");
            hdr.outer.src_cep: exact @name("src_cep");
        }
        actions = { carried; @defaultonly unknown; }
        const default_action = unknown();
        size = FLOWS;
    }

    apply {
        meta.congested = hdr.outer.flags[0:0];
        ends.apply();
    }
}

// Where a PDU goes in its DIF: to a link, or into an (N-1) flow.
control Upper(in headers_t hdr, inout meta_t meta) {
    action via(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action local() {
        meta.reason = hdr.pdu.type == PDU_MANAGEMENT ? Reason.MANAGEMENT : Reason.LOCAL_PDU;
    }

    action unknown() {
        meta.reason = hdr.pdu.type == PDU_MANAGEMENT ? Reason.NO_ROUTE_MANAGEMENT : Reason.NO_DESTINATION;
    }

    table destinations {
        key = {
            meta.dif: exact @name("dif");
            hdr.pdu.dst: exact @name("dst");
        }
        actions = { via; local; unknown; }
        default_action = unknown();
        size = 65536;
    }

    action known() { }

    action end(bit<8> reason) {
        meta.reason = (Reason) reason;
    }

    table pdu_types {
        key = { hdr.pdu.type: exact @name("pdu_type"); }
        actions = { known; @defaultonly end; }
        const default_action = end((bit<8>) Reason.UNKNOWN_PDU_TYPE);
        const entries = {
            PDU_MANAGEMENT: known();
            PDU_DATA: known();
            PDU_CONTROL_ACK: known();
            PDU_ACK: known();
            PDU_NACK: known();
            PDU_FLOW: known();
            PDU_ACK_FLOW: known();
            PDU_NACK_FLOW: known();
            PDU_SACK: known();
            PDU_SNACK: known();
            PDU_SACK_FLOW: known();
            PDU_SNACK_FLOW: known();
            PDU_RENDEZVOUS: known();
        }
    }

    apply {
        pdu_types.apply();
        if (meta.reason != Reason.FORWARDED) {
            return;
        }
        if (hdr.pdu.dst == 0) {
            meta.reason = hdr.pdu.type == PDU_MANAGEMENT ? Reason.MANAGEMENT : Reason.NO_DESTINATION;
        } else {
            destinations.apply();
        }
    }
}

// From a next hop to the link, if need be by an (N-1) flow and the lower DIF's next hop.
control NextHops(inout headers_t hdr, inout meta_t meta) {
    // By next hop, and by (N-1) flow.
    counter(NEXT_HOPS, CounterType.packets_and_bytes) next_hop_packets;
    counter(FLOWS, CounterType.packets_and_bytes) encapsulated;
    // The next PDU of an (N-1) flow. Several workers may give two PDUs the same number: nobody orders by it.
    register<bit<32>>(FLOWS) sequences;

    action forward(bit<9> port, bit<12> vlan, mac_t src, mac_t dst, bit<16> mtu) {
        meta.egress_port = port;
        meta.next_vlan = vlan;
        meta.next_src = src;
        meta.next_dst = dst;
        meta.mtu = mtu;
    }

    action forward_udp(bit<9> port, bit<12> vlan, mac_t src, mac_t dst, bit<16> mtu,
                       bit<32> ip_src, bit<32> ip_dst, bit<16> udp_src, bit<16> udp_dst) {
        forward(port, vlan, src, dst, mtu);
        meta.next_udp = 1;
        meta.next_ip_src = ip_src;
        meta.next_ip_dst = ip_dst;
        meta.next_udp_src = udp_src;
        meta.next_udp_dst = udp_dst;
    }

    action encapsulate(bit<16> flow) {
        meta.flow = flow;
    }

    action unreachable() {
        meta.reason = Reason.UNREACHABLE;
    }

    table next_hops {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { forward; forward_udp; encapsulate; unreachable; }
        default_action = unreachable();
        size = NEXT_HOPS;
    }

    // The header of the lower DIF's PDUs.
    action lower(bit<16> dif, bit<16> dst, bit<16> src, bit<8> qos_id, bit<16> dst_cep, bit<16> src_cep) {
        meta.lower_dif = dif;
        hdr.outer.setValid();
        hdr.outer.version = EFCP_VERSION;
        hdr.outer.dst = dst;
        hdr.outer.src = src;
        hdr.outer.qos_id = qos_id;
        hdr.outer.dst_cep = dst_cep;
        hdr.outer.src_cep = src_cep;
        hdr.outer.type = PDU_DATA;
        hdr.outer.flags = 0;
    }

    table flows {
        key = { meta.flow: exact @name("flow"); }
        actions = { lower; unreachable; }
        default_action = unreachable();
        size = FLOWS;
    }

    action lower_via(bit<16> next_hop) {
        meta.lower_next_hop = next_hop;
    }

    table lower_destinations {
        key = {
            meta.lower_dif: exact @name("dif");
            hdr.outer.dst: exact @name("dst");
        }
        actions = { lower_via; unreachable; }
        default_action = unreachable();
        size = 65536;
    }

    // A next hop of the lower DIF is a link.
    table lower_next_hops {
        key = { meta.lower_next_hop: exact @name("next_hop"); }
        actions = { forward; forward_udp; unreachable; }
        default_action = unreachable();
        size = NEXT_HOPS;
    }

    apply {
        next_hops.apply();
        if (meta.reason != Reason.FORWARDED) {
            return;
        }
        bit<32> length = (bit<32>) hdr.pdu.length;
        if (meta.flow == 0) {
            hdr.outer.setInvalid();
        } else {
            flows.apply();
            if (meta.reason == Reason.FORWARDED) {
                lower_destinations.apply();
            }
            if (meta.reason == Reason.FORWARDED) {
                lower_next_hops.apply();
            }
            if (meta.reason != Reason.FORWARDED) {
                return;
            }
            bit<32> number;
            sequences.read(number, (bit<32>) meta.flow);
            sequences.write((bit<32>) meta.flow, number + 1);
            hdr.outer.sequence = number;
            hdr.outer.length = hdr.pdu.length + ONE_HEADER;
            length = length + (bit<32>) ONE_HEADER;
        }
        if (meta.next_udp == 1) {
            length = length + IPV4_BYTES + UDP_BYTES;
        }
        if (length > (bit<32>) meta.mtu) {
            meta.reason = Reason.TOO_LONG;
            return;
        }
        if (meta.flow != 0) {
            encapsulated.count((bit<32>) meta.flow);
        }
        next_hop_packets.count((bit<32>) meta.next_hop);
    }
}

// What changes in a packet.
control Rewrite(inout headers_t hdr, inout meta_t meta) {
    apply {
        if (meta.congested == 1) {
            bit<16> before = hdr.pdu.type ++ hdr.pdu.flags;
            hdr.pdu.flags = hdr.pdu.flags | FLAG_CONGESTION;
            adjust_checksum(hdr.pdu.checksum, before, hdr.pdu.type ++ hdr.pdu.flags);
        }
        bit<16> type = TYPE_RINA;
        if (meta.next_udp == 1) {
            type = TYPE_IPV4;
            bit<16> length = hdr.outer.isValid() ? hdr.outer.length : hdr.pdu.length;
            hdr.ipv4.setValid();
            hdr.ipv4.version = 4;
            hdr.ipv4.ihl = 5;
            hdr.ipv4.tos = 6w0 ++ ECT;
            hdr.ipv4.length = length + 28;
            hdr.ipv4.id = 0;
            hdr.ipv4.reserved = 0;
            hdr.ipv4.dont_fragment = 1;
            hdr.ipv4.more_fragments = 0;
            hdr.ipv4.offset = 0;
            hdr.ipv4.ttl = IPV4_TTL;
            hdr.ipv4.protocol = PROTOCOL_UDP;
            hdr.ipv4.src = meta.next_ip_src;
            hdr.ipv4.dst = meta.next_ip_dst;
            hdr.udp.setValid();
            hdr.udp.src = meta.next_udp_src;
            hdr.udp.dst = meta.next_udp_dst;
            hdr.udp.length = length + 8;
            hdr.udp.checksum = 0;
        } else {
            hdr.ipv4.setInvalid();
            hdr.udp.setInvalid();
        }
        hdr.ethernet.src = meta.next_src;
        hdr.ethernet.dst = meta.next_dst;
        if (meta.next_vlan == 0) {
            hdr.vlan.setInvalid();
            hdr.ethernet.type = type;
        } else {
            if (!hdr.vlan.isValid()) {
                hdr.vlan.setValid();
                hdr.vlan.priority = 0;
                hdr.vlan.drop_eligible = 0;
            }
            hdr.vlan.id = meta.next_vlan;
            hdr.vlan.type = type;
            hdr.ethernet.type = TYPE_VLAN;
        }
    }
}

control BorderIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Receive() receive;
    Decapsulate() decapsulate;
    Upper() upper;
    NextHops() next_hops;
    Rewrite() rewrite;
    ClassifyPdu() classify;

    // By Reason.
    counter(REASON_COUNT, CounterType.packets_and_bytes) reasons;

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            std.priority = (bit<3>) hdr.packet_out.priority;
            hdr.packet_out.setInvalid();
            return;
        }
        receive.apply(hdr, meta, std);
        bit<1> carried = (bit<1>) hdr.outer.isValid();
        if (meta.reason == Reason.FORWARDED && carried == 1) {
            decapsulate.apply(hdr, meta);
        }
        if (hdr.ipv4.isValid() && hdr.ipv4.tos[1:0] == CE) {
            meta.congested = 1;
        }
        if (meta.reason == Reason.FORWARDED) {
            upper.apply(hdr, meta);
        }
        if (meta.reason == Reason.FORWARDED && hdr.ethernet.dst[40:40] == 1) {
            meta.reason = Reason.LINK_GROUP;
        }
        if (meta.reason == Reason.FORWARDED) {
            next_hops.apply(hdr, meta);
        }
        if (meta.reason == Reason.FORWARDED) {
            rewrite.apply(hdr, meta);
            classify.apply(hdr, meta, std);
            std.egress_spec = meta.egress_port;
        } else if ((bit<8>) meta.reason < FIRST_PUNTED) {
            mark_to_drop(std);
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) std.ingress_port;
            hdr.packet_in.reason = (bit<8>) meta.reason;
            std.egress_spec = meta.reason == Reason.MANAGEMENT || meta.reason == Reason.ARP ? URGENT_CPU_PORT : CPU_PORT;
        }
        reasons.count((bit<32>) (bit<8>) meta.reason);
    }
}

control BorderEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    MarkPdu() mark_pdu;

    apply {
        if (!hdr.packet_in.isValid() && hdr.pdu.isValid()) {
            mark_pdu.apply(hdr, std);
        }
    }
}

control ComputeChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(meta.next_udp == 1,
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id,
                          hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.offset,
                          hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(meta.flow != 0,
                        { hdr.outer.version, hdr.outer.dst, hdr.outer.src, hdr.outer.qos_id, hdr.outer.dst_cep,
                          hdr.outer.src_cep, hdr.outer.type, hdr.outer.flags, hdr.outer.length, hdr.outer.sequence },
                        hdr.outer.checksum, HashAlgorithm.csum16);
    }
}

control BorderDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(BorderParser(), VerifyChecksums(), BorderIngress(), BorderEgress(), ComputeChecksums(), BorderDeparser()) main;
