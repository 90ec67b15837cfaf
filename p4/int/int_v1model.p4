// INT for v1model: a router that adds the path and the latency to packets of watched flows, and reports them where they leave the domain.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

// Telemetry of the nodes before.
header others_t { varbit<8064> words; }

struct headers_t {
    ethernet_t    report_ethernet;
    ipv4_t        report_ipv4;
    ports_t       report_ports;
    udp_rest_t    report_udp;
    report_t      report;
    ethernet_t    ethernet;
    ipv4_t        ipv4;
    ports_t       ports;
    tcp_rest_t    tcp;
    udp_rest_t    udp;
    shim_t        shim;
    int_t         telemetry;
    switch_id_t   switch_id;
    port_ids_t    port_ids;
    latency_t     latency;
    queue_t       queue;
    time_t        ingress_time;
    time_t        egress_time;
    port_ids_t    logical_ports;
    utilisation_t utilisation;
    others_t      others;
}

#include "node.p4"
#include "report.p4"

// What the copy for the collector takes from ingress.
struct copied_t {
    @field_list(1) bit<16> ingress_port;
    @field_list(1) bit<16> egress_port;
}

struct meta_t {
    copied_t copied;
    node_t   node;
    bit<32>  session;        // the clone session to the collector, at a sink
}

register<bit<32>>(1) sequence;

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags[0:0], hdr.ipv4.offset, hdr.ipv4.protocol) {
            (4, 5, 0, 0, PROTOCOL_TCP): tcp;
            (4, 5, 0, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.ports);
        packet.extract(hdr.tcp);
        // Telemetry is behind the header without options.
        transition select(hdr.ipv4.dscp, hdr.tcp.offset) {
            (DSCP_INT, 5): shim;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.ports);
        packet.extract(hdr.udp);
        transition select(hdr.ipv4.dscp) {
            DSCP_INT: shim;
            default: accept;
        }
    }
    state shim {
        shim_t next = packet.lookahead<shim_t>();
        transition select(next.type, next.words) {
            (HOP_BY_HOP, 3 .. 255): telemetry;
            default: accept;
        }
    }
    state telemetry {
        packet.extract(hdr.shim);
        packet.extract(hdr.telemetry);
        packet.extract(hdr.others, ((bit<32>) hdr.shim.words - 3) << 5);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action send(bit<48> src, bit<48> dst, bit<9> port) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        std.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { send; drop; }
        const default_action = drop();
        size = 4096;
    }
    // Ports that lead out of the domain, with the clone session that leads to the collector.
    action leave_domain(bit<32> session) {
        meta.node.sink = 1;
        meta.session = session;
    }
    table sinks {
        key = { std.egress_spec: exact; }
        actions = { leave_domain; NoAction; }
        const default_action = NoAction();
        size = 512;
    }
    apply {
        // Headers that are cut off, or telemetry that is longer than the packet, are no packet of IPv4.
        if (std.parser_error == error.NoError && hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            if (routes.apply().hit) {
                meta.copied.ingress_port = (bit<16>) std.ingress_port;
                meta.copied.egress_port = (bit<16>) std.egress_spec;
                if (sinks.apply().hit && hdr.telemetry.isValid()) {
                    clone_preserving_field_list(CloneType.I2E, meta.session, 1);
                }
            }
        } else {
            drop();
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        meta.node.ingress_port = meta.copied.ingress_port;
        meta.node.egress_port = meta.copied.egress_port;
        meta.node.ingress_time = std.ingress_global_timestamp * 1000;
        meta.node.egress_time = std.egress_global_timestamp * 1000;
        meta.node.depth = 5w0 ++ std.enq_qdepth;
        if (std.instance_type == 1) {
            meta.node.report = 1;
            @atomic {
                sequence.read(meta.node.sequence, 0);
                sequence.write(0, meta.node.sequence + 1);
            }
        }
        Node.apply(hdr, meta.node);
        if (meta.node.report == 1 && hdr.telemetry.isValid()) {
            Report.apply(hdr, meta.node);
        }
        if (!hdr.shim.isValid()) {
            hdr.others.setInvalid();
        }
    }
}

control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, {
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
            hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
        }, hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.report_ipv4.isValid(), {
            hdr.report_ipv4.version, hdr.report_ipv4.ihl, hdr.report_ipv4.dscp, hdr.report_ipv4.ecn, hdr.report_ipv4.length,
            hdr.report_ipv4.id, hdr.report_ipv4.flags, hdr.report_ipv4.offset, hdr.report_ipv4.ttl, hdr.report_ipv4.protocol,
            hdr.report_ipv4.src, hdr.report_ipv4.dst
        }, hdr.report_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), In(), Out(), Compute(), Deparse()) main;
