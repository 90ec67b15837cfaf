// The fast path of a RINA interior router: EFCP beside IPv4, each over Ethernet or in a VLAN.
//
//   parser.p4      frame -> headers; which syntax of EFCP a link has
//   relay.p4       PDU checks, destinations               crc.p4          the CRC of protected PDUs
//   next_hops.p4   equal-cost groups, links, neighbours   congestion.p4   queues, congestion marks
//   reasons.p4     what becomes of a packet, and why
//
// IPv4 is that of the IP router: ../router/route_ipv4.p4.
//
// Macros leave out what hardware does not have: NO_IRATI the syntaxes of IRATI and rlite, which need parser value sets and a CRC over the
// SDU; NO_SELECTOR the action selector of equal-cost paths, in whose place a group has entries by hash value.
//
// A link is a port, or a VLAN at a port; for EFCP it is a flow of the shim DIF below. A packet is forwarded from any link to
// any other if all checks pass. It is dropped if it makes no sense and nobody should be told. Layer management to the router,
// PDUs to its own addresses, ARP, and IPv4 packets that somebody must be told about by ICMP are punted unmodified to the CPU
// port, with the ingress port and the reason. All decisions are made before the first change.
//
// The tables say what the control plane knows: `links` the links and their addresses, `destinations` the addresses of the
// DIFs, `routes_ipv4` the IPv4 routes, `groups` the groups of equal-cost next hops, `next_hops` the neighbours, `qos_queues`
// and `thresholds` the egress queues and when they are congested. The state that packets change is counters only, so that
// several workers can run the program.

#include <core.p4>
#include <v1model.p4>
#include <internet_checksum.p4>

#include "reasons.p4"
#include "headers.p4"
#include "packet.p4"
#include "parser.p4"
#define WITHOUT_POLICY
#include "../router/route_ipv4.p4"
#include "crc.p4"
#include "relay.p4"
#include "next_hops.p4"
#include "congestion.p4"

// IPv4 routes that can have a counter of their own; number 0 is for all others.
#define ROUTE_COUNTERS 65536

control VerifyChecksums(inout headers_t hdr, inout meta_t meta) {
    VerifyEfcp() efcp;
    VerifyIpv4() ipv4;

    apply {
        efcp.apply(hdr, meta);
        ipv4.apply(hdr, meta);
    }
}

control InteriorIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    RelayPdu() relay_pdu;
    ProtectPdu() protect_pdu;
    AgeRlite() age_rlite;
    RouteIpv4() route_ipv4;
    AgeIpv4() age_ipv4;
    NextHops() next_hops;
    Classify() classify;

    // By Reason.
    counter(REASON_COUNT, CounterType.packets_and_bytes) reasons;
    // Forwarded IPv4 packets by the number that the route's entry has.
    counter(ROUTE_COUNTERS, CounterType.packets_and_bytes) route_packets;

    // Address of the link, and the DIF whose PDUs it carries. The seed makes routers in a row spread flows differently.
    action receive(mac_t mac, bit<16> dif, bit<32> hash_seed) {
        meta.mac = mac;
        meta.dif = dif;
        meta.hash_seed = hash_seed;
    }

    action unknown_link() {
        meta.reason = Reason.UNKNOWN_LINK;
    }

    table links {
        key = {
            std.ingress_port: exact @name("port");
            meta.vlan: exact @name("vlan");
        }
        actions = { receive; unknown_link; }
        default_action = unknown_link();
        size = LINKS;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            std.priority = (bit<3>) hdr.packet_out.priority;
            hdr.packet_out.setInvalid();
            return;
        }

        bit<16> type = hdr.vlan.isValid() ? hdr.vlan.type : hdr.ethernet.type;
        links.apply();
        meta.link_group = hdr.ethernet.dst[40:40];
        if (!hdr.ethernet.isValid()) {
            meta.reason = Reason.MALFORMED;
        } else if (meta.reason == Reason.FORWARDED && meta.link_group == 0 && hdr.ethernet.dst != meta.mac) {
            meta.reason = Reason.OTHER_MAC;
        }
        if (meta.reason == Reason.FORWARDED) {
            if (std.parser_error != error.NoError && !hdr.ipv4.isValid()) {
                meta.reason = Reason.MALFORMED;
            } else if (hdr.efcp.isValid() || hdr.irati.isValid() || hdr.rlite.isValid()) {
                relay_pdu.apply(hdr, meta, std);
            } else if (hdr.ipv4.isValid()) {
                route_ipv4.apply(hdr, meta, std);
                if (hdr.vlan.isValid() && ETHERNET_BYTES + VLAN_BYTES + meta.length > std.packet_length) {
                    meta.reason = Reason.MALFORMED;
                }
            } else if (type == TYPE_ARP) {
                meta.reason = Reason.ARP;
            } else if (type < FIRST_TYPE || type == TYPE_LLDP) {
                meta.reason = Reason.LINK_LAYER;
            } else {
                meta.reason = Reason.UNKNOWN_TYPE;
            }
        }
        if (meta.reason == Reason.FORWARDED && meta.link_group == 1) {
            meta.reason = Reason.LINK_GROUP;
        }
        if (meta.reason == Reason.FORWARDED) {
            next_hops.apply(hdr, meta);
        }

        if (meta.reason == Reason.FORWARDED) {
            hdr.ethernet.src = meta.next_src;
            hdr.ethernet.dst = meta.next_dst;
            if (meta.next_vlan == 0) {
                hdr.vlan.setInvalid();
                hdr.ethernet.type = type;
            } else {
                if (!hdr.vlan.isValid()) {
                    hdr.vlan.setValid();
                    hdr.vlan.type = type;
                    hdr.ethernet.type = TYPE_VLAN;
                }
                hdr.vlan.id = meta.next_vlan;
            }
            if (hdr.ipv4.isValid()) {
                age_ipv4.apply(hdr);
                route_packets.count(meta.route);
            } else if (hdr.irati.isValid()) {
                protect_pdu.apply(hdr, meta);
            } else if (hdr.rlite.isValid()) {
                age_rlite.apply(hdr);
            }
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

control InteriorEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    MarkCongestion() mark_congestion;
    ComputeCrc() compute_crc;

    apply {
        if (hdr.packet_in.isValid() || !hdr.ethernet.isValid()) {
            return;
        }
        mark_congestion.apply(hdr, std);
        if (hdr.crc.isValid()) {
            bit<32> crc;
            compute_crc.apply(hdr, crc);
            hdr.crc.value = crc;
        }
    }
}

// Updated where the fields are.
control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control InteriorDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(InteriorParser(), VerifyChecksums(), InteriorIngress(), InteriorEgress(), NoChecksums(), InteriorDeparser()) main;
