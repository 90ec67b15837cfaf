// The data path of an OpenFlow switch, for versions 1.0 and 1.3 of the protocol.
//
// A packet is matched by flows of one table at a time. What a flow does with the packet is a list of *outputs*: where a copy
// goes, and the number of a *rewrite*, the changes that the copy gets on its way out. One output is unicast, several are a
// multicast group whose replicas carry the rewrite as `egress_rid`. So an action list such as "output to 1, set a field,
// output to 2" is the two outputs (1, none) and (2, the field set).
//
// Everything that happens after a rewrite is one more pass: an output to the port AGAIN is recirculated, and the table
// `again` says by its rewrite what the next pass does: match the flows of another table (Goto-Table), choose a bucket of a
// group, use a further list of outputs, or forward as a learning bridge (NORMAL). A packet takes at most MAX_PASSES passes.
//
// The control plane numbers flows, rewrites, groups, buckets and meters. Number 0 is none.

#include <core.p4>
#include <v1model.p4>
#include <internet_checksum.p4>

const bit<9> CPU = 510;    // to the controllers
const bit<9> AGAIN = 509;  // one more pass
const bit<9> IN_PORT = 508;  // where the packet came in

// The tables that flows may lie in, 0 to 31, and the flows of all of them.
#define TABLES 32
#ifndef FLOWS
#define FLOWS 262144
#endif
// Meters: those of packets have even numbers, those of bytes odd ones.
#define METERS 4096
#define BUCKETS 65536
#define STATIONS 65536
const bit<8> MAX_PASSES = 64;
// The multicast group of all ports that packets are flooded to.
const bit<16> FLOOD_GROUP = 65535;

const bit<16> NO_ETHER_TYPE = 0x05ff;
const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_VLAN = 0x8100;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_MPLS = 0x8847;
const bit<16> TYPE_MPLS_MULTICAST = 0x8848;
const bit<16> TYPE_SVLAN = 0x88a8;
const bit<16> TYPE_PBB = 0x88e7;

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
    counter(BUCKETS, CounterType.packets_and_bytes) bucket_counter;
    // Packets of a meter, and those of each of its bands: the yellow packets of meter M at 2M, its red ones at 2M + 1.
    counter(METERS, CounterType.packets_and_bytes) meter_counter;
    counter(2 * METERS, CounterType.packets_and_bytes) band_counter;
    meter(METERS, MeterType.packets) packet_meters;
    meter(METERS, MeterType.bytes) byte_meters;
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

    // A flow with a meter or Write-Metadata.
    action flow_instructions(bit<32> flow, bit<9> port, bit<16> rewrite, bit<16> group, bit<16> meter_id, bit<64> value,
            bit<64> mask) {
        meta.flow = flow;
        meta.meter = meter_id;
        meta.metadata = (meta.metadata & ~mask) | (value & mask);
        std.mcast_grp = group;
        output(port, rewrite);
    }

    // Buckets of groups, by their numbers.
    action bucket_output(bit<32> bucket, bit<9> port, bit<16> rewrite) {
        bucket_counter.count(bucket);
        output(port, rewrite);
    }

    action bucket_replicate(bit<32> bucket, bit<16> group) {
        bucket_counter.count(bucket);
        replicate(group);
    }

    action bucket_drop(bit<32> bucket) {
        bucket_counter.count(bucket);
        drop();
    }

    // What bands of meters do. Both count.
    action band_drop() {
        band_counter.count((bit<32>) (meta.meter ++ meta.color[1:1]));
        std.mcast_grp = 0;
        drop();
    }

    // A higher drop precedence within the same class of assured forwarding (RFC 2597); other code points stay.
    action band_remark(bit<2> levels) {
        band_counter.count((bit<32>) (meta.meter ++ meta.color[1:1]));
        bit<3> class = meta.tos[7:5];
        bit<2> precedence = meta.tos[4:3];
        if (class >= 1 && class <= 4 && precedence != 0 && meta.tos[2:2] == 0) {
            bit<8> tos = class ++ (levels > 3 - precedence ? 2w3 : precedence + levels) ++ meta.tos[2:0];
            if (hdr.ipv4.isValid()) {
                adjust_checksum(hdr.ipv4.checksum, { 8w0, meta.tos }, { 8w0, tos });
                hdr.ipv4.dscp = tos[7:2];
            } else {
                hdr.ipv6.traffic_class = tos;
            }
            meta.tos = tos;
        }
    }

    table meter_bands {
        key = {
            meta.meter : exact;
            meta.color : exact;
        }
        actions = { band_drop; band_remark; NoAction; }
        default_action = NoAction();
        size = 2 * METERS;
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
            meta.tunnel_id[63:32] : ternary @name("tunnel_id_high");
            meta.metadata : ternary;
            hdr.ethernet.dst : ternary @name("eth_dst");
            hdr.ethernet.src : ternary @name("eth_src");
            meta.eth_type : ternary;
            meta.vlan : ternary;
            meta.vlan_pcp : ternary;
            meta.tos : ternary;
            meta.ip_proto : ternary;
            meta.tunnel_id[31:0] : ternary @name("tunnel_id_low");
            meta.l3_src : ternary;
            meta.l3_dst : ternary;
            meta.label : ternary;
            meta.l4_src : ternary;
            meta.l4_dst : ternary;
            meta.link_src : ternary;
            meta.link_dst : ternary;
            meta.nd_target : ternary;
        }
        actions = {
            flow_output; flow_replicate; flow_drop; flow_instructions; miss_to_controller; miss_drop;
        }
        default_action = miss_drop();
        size = FLOWS;
    }

    // Fragments of IP are dropped if the controllers want that.
    action refuse_fragments() {
        if (hdr.ipv4.isValid() && (hdr.ipv4.flags[0:0] == 1 || hdr.ipv4.offset != 0)
                || hdr.ipv6.isValid() && meta.label & EXT_FRAGMENT != 0) {
            meta.refused = 1;
        }
    }

    // Ports from which nothing is taken, or that do not ask the controllers what to do with packets that no flow matches.
    action refuse_packets() {
        meta.refused = 1;
    }

    action refuse_misses() {
        meta.quiet = 1;
    }

    action refuse_misses_and_fragments() {
        meta.quiet = 1;
        refuse_fragments();
    }

    table ingress_ports {
        key = { meta.in_port : exact; }
        actions = { refuse_packets; refuse_misses; refuse_fragments; refuse_misses_and_fragments; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    // The buckets of groups that use one of them. Of select groups, a flow of packets stays with one bucket.
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
        actions = { bucket_output; bucket_replicate; bucket_drop; }
        default_action = bucket_drop(0);
        implementation = buckets;
        size = 65536;
    }

    // Stations that the bridge knows: where packets come from them, and where packets go to them. Packets of others go to the
    // agent, which learns them and sends the packets on.
    action learn() {
        std.egress_spec = CPU;
        meta.flow = LEARN_FLOW;
        meta.rewrite = 0;
    }

    table sources {
        key = {
            meta.in_port : exact;
            meta.vlan : exact;
            hdr.ethernet.src : exact @name("eth_src");
        }
        actions = { NoAction; learn; }
        default_action = learn();
        size = STATIONS;
    }

    action forward(bit<9> port) {
        output(port, 0);
    }

    action flood() {
        replicate(FLOOD_GROUP);
    }

    table stations {
        key = {
            meta.vlan : exact;
            hdr.ethernet.dst : exact @name("eth_dst");
        }
        actions = { forward; flood; }
        default_action = flood();
        size = STATIONS;
    }

    apply {
        meta.passes = meta.passes + 1;
        std.priority = meta.queue;
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
        } else if (meta.next == NEXT_NORMAL) {
            if (sources.apply().hit) {
                stations.apply();
            }
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
                if (meta.meter != 0) {
                    meter_counter.count((bit<32>) meta.meter);
                    if (meta.meter[0:0] == 0) {
                        packet_meters.execute_meter((bit<32>) meta.meter, meta.color);
                    } else {
                        byte_meters.execute_meter((bit<32>) meta.meter, meta.color);
                    }
                    meter_bands.apply();
                }
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
    // Packets and bytes by port and queue, but those of queue 0.
    counter(4096, CounterType.packets_and_bytes) queue_counter;

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

    action bridge() {
        meta.next = NEXT_NORMAL;
    }

    table again {
        key = { meta.rewrite : exact; }
        actions = { go_to; choose; use_outputs; bridge; drop; }
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
                hdr.packet_in = { meta.in_port, meta.table_id, 0, meta.flow, meta.rewrite, meta.metadata, meta.tunnel_id };
            } else if (std.egress_port == AGAIN) {
                again.apply();
                recirculate_preserving_field_list(1);
            } else if (meta.queue != 0) {
                queue_counter.count((bit<32>) (std.egress_port ++ meta.queue));
            }
        }
    }
}

V1Switch(OpenFlowParser(), NoChecksums(), Pipeline(), Outputs(), NoChecksums(), OpenFlowDeparser()) main;
