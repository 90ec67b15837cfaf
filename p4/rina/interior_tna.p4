// The RINA interior router for Tofino: EFCP in the syntax with a header checksum, over Ethernet or in a VLAN.
//
// What it does with a PDU, its tables and reasons are those of interior.p4, but for what the chip is like:
//
// - There is no IPv4, and no syntax whose header is little-endian or whose SDUs have a CRC.
// - Ingress does not know how long a frame is. A PDU that says to be longer than its frame is dropped in egress (`cut_off`).
// - A queue's length is a range in the key of `thresholds`, because an action cannot compare it with a parameter.
// - The flow's hash is that of an action selector. Routers in a row would choose alike; FLOW_HASH gives each another one.
//
// Ports and queues are the chip's: the control plane is at port 64, and the egress queue of layer management is number 7 of a port.

#include <core.p4>
#include <tna.p4>

#define TOFINO
#include "reasons.p4"
#include "headers.p4"

#ifndef FLOW_HASH
#define FLOW_HASH HashAlgorithm_t.CRC16
#endif

// Entries: links, destinations in all DIFs, next hops, groups of these, and members of groups.
#define LINKS 4096
#define DESTINATIONS 65536
#define QOS_DESTINATIONS 16384
#define NEXT_HOPS 4096
#define GROUPS 1024
#define MEMBERS 16384

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    vlan_t       vlan;
    efcp_t       efcp;
}

struct meta_t {
    Reason  reason;
    bit<1>  bad_checksum;
    bit<12> vlan;
    mac_t   mac;
    bit<16> dif;
    bit<16> next_hop;
    bit<16> group;           // 0: there is one next hop
    bit<12> next_vlan;
    bit<16> room;            // bytes by which the next link's packets may be longer; negative: the PDU is too long
}

parser InteriorIngressParser(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() efcp_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta = { Reason.FORWARDED, 0, 0, 0, 0, 0, 0, 0, 0 };
        transition select(ig_intr_md.ingress_port) {
            CPU_PORT: from_control_plane;
            default: ethernet;
        }
    }

    state from_control_plane {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_VLAN: vlan;
            TYPE_RINA: efcp;
            default: accept;
        }
    }

    state vlan {
        packet.extract(hdr.vlan);
        meta.vlan = hdr.vlan.id;
        transition select(hdr.vlan.type) {
            TYPE_RINA: efcp;
            default: accept;
        }
    }

    state efcp {
        packet.extract(hdr.efcp);
        efcp_checksum.add(hdr.efcp);
        meta.bad_checksum = (bit<1>) efcp_checksum.verify();
        transition accept;
    }
}

control InteriorIngress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                        in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                        inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                        inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    // By Reason.
    Counter<bit<64>, bit<8>>(REASON_COUNT, CounterType_t.PACKETS_AND_BYTES) reasons;
    // By next hop.
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) next_hop_packets;
    Hash<bit<16>>(FLOW_HASH) flow;
    ActionProfile(MEMBERS) profile;
    ActionSelector(profile, flow, SelectorMode_t.FAIR, 64, GROUPS) members;

    // Address of the link, and the DIF whose PDUs it carries.
    action receive(mac_t mac, bit<16> dif) {
        meta.mac = mac;
        meta.dif = dif;
    }

    table links {
        key = {
            ig_intr_md.ingress_port: exact @name("port");
            meta.vlan: exact @name("vlan");
        }
        actions = { receive; @defaultonly NoAction; }
        const default_action = NoAction();
        size = LINKS;
    }

    action known() { }

    action unknown_type() {
        meta.reason = Reason.UNKNOWN_PDU_TYPE;
    }

    table pdu_types {
        key = { hdr.efcp.type: exact @name("pdu_type"); }
        actions = { known; @defaultonly unknown_type; }
        const default_action = unknown_type();
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
        size = 16;
    }

    action via(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action multipath(bit<16> group) {
        meta.group = group;
    }

    // An address of the router.
    action local() {
        meta.reason = Reason.LOCAL_PDU;
    }

    action unknown() {
        meta.reason = Reason.NO_DESTINATION;
    }

    // PDUs of different QoS ids take different paths to this address: see qos_destinations.
    action by_qos() { }

    table destinations {
        key = {
            meta.dif: exact @name("dif");
            hdr.efcp.dst: exact @name("dst");
        }
        actions = { via; multipath; local; by_qos; unknown; }
        const default_action = unknown();
        size = DESTINATIONS;
    }

    table qos_destinations {
        key = {
            meta.dif: exact @name("dif");
            hdr.efcp.dst: exact @name("dst");
            hdr.efcp.qos_id: exact @name("qos_id");
        }
        actions = { via; multipath; unknown; }
        const default_action = unknown();
        size = QOS_DESTINATIONS;
    }

    action use(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action unreachable() {
        meta.reason = Reason.UNREACHABLE;
    }

    table groups {
        key = {
            meta.group: exact @name("group");
            hdr.efcp.dst: selector;
            hdr.efcp.src: selector;
            hdr.efcp.dst_cep: selector;
            hdr.efcp.src_cep: selector;
        }
        actions = { use; @defaultonly unreachable; }
        const default_action = unreachable();
        implementation = members;
        size = GROUPS;
    }

    // vlan 0: untagged. mtu: bytes behind the Ethernet and VLAN headers.
    action forward(PortId_t port, bit<12> vlan, mac_t src, mac_t dst, bit<16> mtu) {
        ig_tm_md.ucast_egress_port = port;
        meta.next_vlan = vlan;
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        meta.room = mtu - hdr.efcp.length;
        next_hop_packets.count();
    }

    action resolve() {
        meta.reason = Reason.UNRESOLVED;
    }

    table next_hops {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { forward; resolve; }
        const default_action = resolve();
        counters = next_hop_packets;
        size = NEXT_HOPS;
    }

    action queue(QueueId_t priority) {
        ig_tm_md.qid = priority;
    }

    // PDUs but for layer management; QoS ids without an entry wait in queue 0.
    table qos_queues {
        key = {
            meta.dif: exact @name("dif");
            hdr.efcp.qos_id: exact @name("qos_id");
        }
        actions = { queue; }
        const default_action = queue(0);
        size = 4096;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            ig_tm_md.ucast_egress_port = (PortId_t) hdr.packet_out.egress_port;
            ig_tm_md.qid = (QueueId_t) hdr.packet_out.priority;
            // What it carries is a frame whose egress does nothing.
            ig_tm_md.bypass_egress = 1;
            hdr.packet_out.setInvalid();
            return;
        }

        bit<16> type = hdr.ethernet.type;
        if (hdr.vlan.isValid()) {
            type = hdr.vlan.type;
        }
        // One chain, so that the checks share a stage: each would wait for the one before if it looked at the reason.
        if (!links.apply().hit) {
            meta.reason = Reason.UNKNOWN_LINK;
        } else if (!hdr.ethernet.isValid()) {
            meta.reason = Reason.MALFORMED;
        } else if (hdr.ethernet.dst[40:40] == 0 && hdr.ethernet.dst != meta.mac) {
            meta.reason = Reason.OTHER_MAC;
        } else if (hdr.efcp.isValid()) {
            // Frames are shorter than 32 KiB.
            if (hdr.efcp.length < EFCP_BYTES || hdr.efcp.length[15:15] == 1) {
                meta.reason = Reason.MALFORMED;
            } else if (meta.bad_checksum == 1) {
                meta.reason = Reason.BAD_CHECKSUM;
            } else if (hdr.efcp.version != EFCP_VERSION) {
                meta.reason = Reason.UNKNOWN_VERSION;
            } else {
                pdu_types.apply();
            }
        } else if (ig_prsr_md.parser_err != PARSER_ERROR_OK) {
            meta.reason = Reason.MALFORMED;
        } else if (type == TYPE_ARP) {
            meta.reason = Reason.ARP;
        } else if (type < FIRST_TYPE || type == TYPE_LLDP) {
            meta.reason = Reason.LINK_LAYER;
        } else {
            meta.reason = Reason.UNKNOWN_TYPE;
        }
        if (meta.reason == Reason.FORWARDED) {
            if (hdr.efcp.type == PDU_MANAGEMENT && hdr.efcp.dst == 0) {
                meta.reason = Reason.MANAGEMENT;
            } else {
                switch (destinations.apply().action_run) {
                    by_qos: { qos_destinations.apply(); }
                    default: { }
                }
            }
        }
        if (hdr.efcp.type == PDU_MANAGEMENT && meta.reason == Reason.LOCAL_PDU) {
            meta.reason = Reason.MANAGEMENT;
        } else if (hdr.efcp.type == PDU_MANAGEMENT && meta.reason == Reason.NO_DESTINATION) {
            meta.reason = Reason.NO_ROUTE_MANAGEMENT;
        } else if (meta.reason == Reason.FORWARDED && hdr.ethernet.dst[40:40] == 1) {
            meta.reason = Reason.LINK_GROUP;
        }
        if (meta.reason == Reason.FORWARDED && meta.group != 0) {
            groups.apply();
        }
        // A packet that is not forwarded keeps its headers.
        if (meta.reason == Reason.FORWARDED) {
            next_hops.apply();
        }
        if (meta.reason == Reason.FORWARDED && meta.room[15:15] == 1) {
            meta.reason = Reason.TOO_LONG;
        }
        if (meta.reason == Reason.FORWARDED) {
            if (meta.next_vlan == 0) {
                hdr.vlan.setInvalid();
                hdr.ethernet.type = type;
            } else {
                if (!hdr.vlan.isValid()) {
                    hdr.vlan.setValid();
                    hdr.vlan.priority = 0;
                    hdr.vlan.drop_eligible = 0;
                    hdr.vlan.type = type;
                    hdr.ethernet.type = TYPE_VLAN;
                }
                hdr.vlan.id = meta.next_vlan;
            }
            if (hdr.efcp.type == PDU_MANAGEMENT) {
                // Whatever its QoS id: it never waits behind data.
                ig_tm_md.qid = (QueueId_t) MANAGEMENT_QUEUE;
            } else {
                qos_queues.apply();
            }
        } else if ((bit<8>) meta.reason < FIRST_PUNTED) {
            ig_dprsr_md.drop_ctl = 1;
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) ig_intr_md.ingress_port;
            hdr.packet_in.reason = (bit<8>) meta.reason;
            ig_tm_md.ucast_egress_port = CPU_PORT;
            ig_tm_md.bypass_egress = 1;
        }
        reasons.count((bit<8>) meta.reason);
    }
}

control InteriorIngressDeparser(packet_out packet, inout headers_t hdr, in meta_t meta,
                                in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(hdr);
    }
}

struct egress_meta_t {
    bit<16> shortest;        // bytes that a frame has at least if its PDU is whole
    bit<1>  mark;
}

parser InteriorEgressParser(packet_in packet, out headers_t hdr, out egress_meta_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        meta = { 0, 0 };
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_VLAN: vlan;
            default: efcp;
        }
    }

    state vlan {
        packet.extract(hdr.vlan);
        meta.shortest = (bit<16>) VLAN_BYTES;
        transition efcp;
    }

    state efcp {
        packet.extract(hdr.efcp);
        transition accept;
    }
}

@noWarn("target")
control InteriorEgress(inout headers_t hdr, inout egress_meta_t meta, in egress_intrinsic_metadata_t eg_intr_md,
                       in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                       inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                       inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    // By egress port.
    Counter<bit<64>, PortId_t>(512, CounterType_t.PACKETS_AND_BYTES) marked;
    // PDUs that say to be longer than their frame, by egress port.
    Counter<bit<64>, PortId_t>(512, CounterType_t.PACKETS_AND_BYTES) cut_off;

    action mark() {
        meta.mark = 1;
    }

    // Marks what finds this many packets in its queue.
    table thresholds {
        key = {
            eg_intr_md.egress_port: exact @name("port");
            eg_intr_md.egress_qid: exact @name("priority");
            eg_intr_md.enq_qdepth: range @name("packets");
        }
        actions = { mark; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 2048;
    }

    apply {
        meta.shortest = meta.shortest + hdr.efcp.length;
        meta.shortest = meta.shortest + (bit<16>) ETHERNET_BYTES;
        // The chip counts the frame check sequence, so that a PDU passes there that lacks four bytes.
        if (eg_intr_md.pkt_length |-| meta.shortest == 0 && eg_intr_md.pkt_length != meta.shortest) {
            eg_dprsr_md.drop_ctl = 1;
            cut_off.count(eg_intr_md.egress_port);
        } else {
            thresholds.apply();
            if (meta.mark == 1) {
                hdr.efcp.flags = hdr.efcp.flags | FLAG_CONGESTION;
                marked.count(eg_intr_md.egress_port);
            }
        }
    }
}

control InteriorEgressDeparser(packet_out packet, inout headers_t hdr, in egress_meta_t meta,
                               in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Checksum() efcp_checksum;

    apply {
        if (meta.mark == 1) {
            hdr.efcp.checksum = efcp_checksum.update({
                hdr.efcp.version, hdr.efcp.dst, hdr.efcp.src, hdr.efcp.qos_id, hdr.efcp.dst_cep, hdr.efcp.src_cep, hdr.efcp.type,
                hdr.efcp.flags, hdr.efcp.length, hdr.efcp.sequence });
        }
        packet.emit(hdr);
    }
}

Pipeline(InteriorIngressParser(), InteriorIngress(), InteriorIngressDeparser(),
         InteriorEgressParser(), InteriorEgress(), InteriorEgressDeparser()) pipe;

Switch(pipe) main;
