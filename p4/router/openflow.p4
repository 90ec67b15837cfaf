// The data path of an OpenFlow switch, for versions 1.0 and 1.3 of the protocol.
//
// A packet is matched by flows of one table at a time. What a flow does with the packet is a list of *outputs*: where a copy
// goes, and the number of a *rewrite*, the changes that the copy gets on its way out. One output is unicast, several are a
// multicast group whose replicas carry the rewrite as `egress_rid`. So an action list such as "output to 1, set a field,
// output to 2" is the two outputs (1, none) and (2, the field set).
//
// Everything that happens after a rewrite is one more pass: an output to the port AGAIN is recirculated, and the table
// `again` says by its rewrite what the next pass does: match the flows of another table (Goto-Table), choose a bucket of a
// select group, or use a further list of outputs. A packet takes at most MAX_PASSES passes.
//
// The control plane numbers flows, rewrites and groups. Number 0 is none.

#include <core.p4>
#include <v1model.p4>
#include <internet_checksum.p4>

const bit<9> CPU = 510;    // to the controllers
const bit<9> AGAIN = 509;  // one more pass
const bit<9> IN_PORT = 508;  // where the packet came in

// The tables that flows may lie in, 0 to 31, and the flows of all of them.
#define TABLES 32
#define FLOWS 262144
const bit<8> MAX_PASSES = 64;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_VLAN = 0x8100;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_SVLAN = 0x88a8;

#include "openflow/headers.p4"
#include "openflow/parser.p4"
#include "openflow/rewrite.p4"

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Pipeline(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    // Packets and bytes by flow, packets by table.
    counter(FLOWS, CounterType.packets_and_bytes) flow_counter;
    counter(TABLES, CounterType.packets) lookups;
    counter(TABLES, CounterType.packets) misses;
    @max_group_size(256)
    action_selector(HashAlgorithm.crc32, 65536, 32) buckets;

    action drop() {
        mark_to_drop(std);
    }

    // The packet goes to one port.
    action output(bit<9> port, bit<16> rewrite) {
        std.egress_spec = port;
        meta.rewrite = rewrite;
    }

    // The packet goes to the replicas of a multicast group, each with its rewrite.
    action replicate(bit<16> group) {
        std.mcast_grp = group;
        meta.rewrite = 0;
    }

    // What flows do. `flow` is the flow's number.
    action flow_output(bit<32> flow, bit<9> port, bit<16> rewrite) {
        meta.flow = flow;
        output(port, rewrite);
    }

    action flow_replicate(bit<32> flow, bit<16> group) {
        meta.flow = flow;
        replicate(group);
    }

    action flow_drop(bit<32> flow) {
        meta.flow = flow;
        drop();
    }

    // A flow with Write-Metadata. One of its outputs is another pass.
    action flow_metadata(bit<32> flow, bit<9> port, bit<16> rewrite, bit<16> group, bit<64> value, bit<64> mask) {
        meta.flow = flow;
        meta.metadata = (meta.metadata & ~mask) | (value & mask);
        std.mcast_grp = group;
        output(port, rewrite);
    }

    // What no flow matches goes to the controllers, or is dropped.
    action miss_to_controller() {
        misses.count((bit<32>) meta.table_id);
        output(CPU, 0);
    }

    action miss_drop() {
        misses.count((bit<32>) meta.table_id);
        drop();
    }

    // Flows of table 0 that match all twelve fields of OpenFlow 1.0: they outrank all others.
    table exact_flows {
        key = {
            meta.in_port : exact;
            hdr.ethernet.src : exact @name("eth_src");
            hdr.ethernet.dst : exact @name("eth_dst");
            meta.vlan : exact;
            meta.vlan_pcp : exact;
            meta.eth_type : exact;
            meta.tos[7:2] : exact @name("ip_dscp");
            meta.ip_proto : exact;
            meta.l3_src[31:0] : exact @name("ipv4_src");
            meta.l3_dst[31:0] : exact @name("ipv4_dst");
            meta.l4_src : exact;
            meta.l4_dst : exact;
        }
        actions = { flow_output; flow_replicate; flow_drop; NoAction; }
        default_action = NoAction();
        size = FLOWS;
    }

    table flows {
        key = {
            meta.table_id : exact;
            meta.in_port : ternary;
            meta.metadata : ternary;
            hdr.ethernet.dst : ternary @name("eth_dst");
            hdr.ethernet.src : ternary @name("eth_src");
            meta.eth_type : ternary;
            meta.vlan : ternary;
            meta.vlan_pcp : ternary;
            meta.tos : ternary;
            meta.ip_proto : ternary;
            meta.l3_src : ternary;
            meta.l3_dst : ternary;
            meta.flow_label : ternary;
            meta.l4_src : ternary;
            meta.l4_dst : ternary;
            meta.link_src : ternary;
            meta.link_dst : ternary;
            meta.nd_target : ternary;
        }
        actions = {
            flow_output; flow_replicate; flow_drop; flow_metadata; miss_to_controller; miss_drop;
        }
        default_action = miss_drop();
        size = FLOWS;
    }

    // Ports from which nothing is taken, or that do not ask the controllers what to do with packets that no flow matches.
    action refuse_packets() {
        meta.refused = 1;
    }

    action refuse_misses() {
        meta.quiet = 1;
    }

    table ingress_ports {
        key = { meta.in_port : exact; }
        actions = { refuse_packets; refuse_misses; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    // The buckets of select groups; a flow of packets stays with one bucket.
    table select_groups {
        key = {
            meta.select_group : exact;
            hdr.ethernet.src : selector @name("eth_src");
            hdr.ethernet.dst : selector @name("eth_dst");
            meta.ip_proto : selector;
            meta.l3_src : selector;
            meta.l3_dst : selector;
            meta.l4_src : selector;
            meta.l4_dst : selector;
        }
        actions = { output; replicate; drop; }
        default_action = drop();
        implementation = buckets;
        size = 65536;
    }

    apply {
        meta.passes = meta.passes + 1;
        if (hdr.packet_out.isValid()) {
            meta.in_port = hdr.packet_out.in_port;
            meta.next = hdr.packet_out.next;
            meta.port = hdr.packet_out.port;
            meta.group = hdr.packet_out.group;
            meta.rewrite = hdr.packet_out.rewrite;
            meta.flow = NO_FLOW;
            hdr.packet_out.setInvalid();
        } else if (meta.passes == 1) {
            meta.in_port = (bit<16>) std.ingress_port;
            ingress_ports.apply();
        }
        if (meta.refused == 1 || meta.passes > MAX_PASSES || !hdr.ethernet.isValid()) {
            drop();
        } else if (meta.next == NEXT_OUTPUT) {
            std.egress_spec = meta.port;
            std.mcast_grp = meta.group;
        } else if (meta.next == NEXT_SELECT) {
            select_groups.apply();
        } else {
            meta.flow = 0;
            lookups.count((bit<32>) meta.table_id);
            bool matched = false;
            if (meta.table_id == 0) {
                matched = exact_flows.apply().hit;
            }
            if (!matched) {
                flows.apply();
            }
            if (meta.flow != 0) {
                flow_counter.count(meta.flow);
            } else if (meta.quiet == 1) {
                drop();
            }
        }
        if (std.egress_spec == IN_PORT) {
            std.egress_spec = (bit<9>) meta.in_port;
            meta.hairpin = 1;
        }
    }
}

control Outputs(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Rewrite() rewrite;

    action drop() {
        mark_to_drop(std);
    }

    // What the next pass does.
    action go_to(bit<8> table_id) {
        meta.next = NEXT_TABLE;
        meta.table_id = table_id;
    }

    action choose(bit<32> group) {
        meta.next = NEXT_SELECT;
        meta.select_group = group;
    }

    action use_outputs(bit<9> port, bit<16> rewrite_id, bit<16> group) {
        meta.next = NEXT_OUTPUT;
        meta.port = port;
        meta.rewrite = rewrite_id;
        meta.group = group;
    }

    table again {
        key = { meta.rewrite : exact; }
        actions = { go_to; choose; use_outputs; drop; }
        default_action = drop();
        size = 65536;
    }

    // Ports by which nothing is sent.
    table egress_ports {
        key = { std.egress_port : exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        if (std.egress_rid != 0) {
            meta.rewrite = std.egress_rid;
        }
        if ((bit<16>) std.egress_port == meta.in_port && meta.hairpin == 0 || egress_ports.apply().hit) {
            // A packet leaves by the port where it came in only if it is sent to IN_PORT.
            drop();
        } else {
            if (meta.rewrite != 0) {
                rewrite.apply(hdr, meta, std);
            }
            if (std.egress_port == CPU) {
                hdr.packet_in.setValid();
                hdr.packet_in = { meta.in_port, meta.table_id, 0, meta.flow, meta.rewrite, meta.metadata };
            } else if (std.egress_port == AGAIN) {
                again.apply();
                recirculate_preserving_field_list(1);
            }
        }
    }
}

V1Switch(OpenFlowParser(), NoChecksums(), Pipeline(), Outputs(), NoChecksums(), OpenFlowDeparser()) main;
