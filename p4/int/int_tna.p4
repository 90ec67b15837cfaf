// INT for Tofino: a router that adds the path and the latency to packets of watched flows, and reports them where they leave the domain.
// Ingress finds the way, and mirrors packets for the collector; egress is the node.

#include <core.p4>
#include <tna.p4>
#include "headers.p4"

const bit<8> FROM_INGRESS = 1;
const bit<8> MIRRORED = 2;
// Telemetry of more words is passed on as it is.
const bit<8> MOST_WORDS = 120;

// In front of a packet between ingress and egress, and of a mirrored one.
header bridge_t {
    bit<8>  from;
    bit<8>  sink;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<48> ingress_time;
}

struct headers_t {
    bridge_t      bridge;
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
}

#include "node.p4"
#include "report.p4"

struct ingress_metadata_t {
    MirrorId_t session;
    bit<16>    ingress_port;
    bit<16>    egress_port;
    bit<48>    ingress_time;
}

struct egress_metadata_t {
    node_t node;
}

// From Ethernet to the header of INT.
parser Headers(packet_in packet, inout headers_t hdr) {
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
            (HOP_BY_HOP, 3 .. MOST_WORDS): telemetry;
            default: accept;
        }
    }
    state telemetry {
        packet.extract(hdr.shim);
        packet.extract(hdr.telemetry);
        transition accept;
    }
}

parser InParser(packet_in packet, out headers_t hdr, out ingress_metadata_t md, out ingress_intrinsic_metadata_t intrinsic) {
    Headers() headers;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        headers.apply(packet, hdr);
        transition accept;
    }
}

control In(inout headers_t hdr, inout ingress_metadata_t md, in ingress_intrinsic_metadata_t intrinsic,
           in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
           inout ingress_intrinsic_metadata_for_tm_t tm) {
    action drop() {
        deparser.drop_ctl = 1;
    }
    action send(bit<48> src, bit<48> dst, PortId_t port) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        tm.ucast_egress_port = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { send; drop; }
        const default_action = drop();
        size = 4096;
    }
    // Ports that lead out of the domain, with the mirror session that leads to the collector.
    action leave_domain(MirrorId_t session) {
        hdr.bridge.sink = 1;
        md.session = session;
    }
    table sinks {
        key = { tm.ucast_egress_port: exact; }
        actions = { leave_domain; NoAction; }
        const default_action = NoAction();
        size = 512;
    }
    apply {
        hdr.bridge.setValid();
        hdr.bridge.from = FROM_INGRESS;
        hdr.bridge.sink = 0;
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            switch (routes.apply().action_run) {
                send: {
                    if (sinks.apply().hit && hdr.telemetry.isValid()) {
                        deparser.mirror_type = 1;
                    }
                }
            }
        } else {
            drop();
        }
        hdr.bridge.ingress_port = 7w0 ++ intrinsic.ingress_port;
        hdr.bridge.egress_port = 7w0 ++ tm.ucast_egress_port;
        hdr.bridge.ingress_time = parsed.global_tstamp;
        md.ingress_port = hdr.bridge.ingress_port;
        md.egress_port = hdr.bridge.egress_port;
        md.ingress_time = parsed.global_tstamp;
    }
}

control InDeparser(packet_out packet, inout headers_t hdr, in ingress_metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t deparser) {
    Mirror() mirror;

    apply {
        if (deparser.mirror_type == 1) {
            mirror.emit<bridge_t>(md.session, { MIRRORED, 0, md.ingress_port, md.egress_port, md.ingress_time });
        }
        packet.emit(hdr);
    }
}

parser OutParser(packet_in packet, out headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t intrinsic) {
    Headers() headers;
    ParserCounter() words;

    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.bridge);
        headers.apply(packet, hdr);
        transition select(hdr.bridge.sink, hdr.shim.isValid()) {
            (1, true): others;
            default: accept;
        }
    }
    // A sink takes off what nodes before have added.
    state others {
        words.set(hdr.shim.words, MOST_WORDS, 0, 7, -(bit<8>) FIXED_WORDS);
        transition more;
    }
    state more {
        transition select(words.is_zero()) {
            true: accept;
            false: word;
        }
    }
    state word {
        packet.advance(32);
        words.decrement(1);
        transition more;
    }
}

control Out(inout headers_t hdr, inout egress_metadata_t md, in egress_intrinsic_metadata_t intrinsic,
            in egress_intrinsic_metadata_from_parser_t parsed, inout egress_intrinsic_metadata_for_deparser_t deparser,
            inout egress_intrinsic_metadata_for_output_port_t port) {
    Register<bit<32>, bit<1>>(1) sequence;
    RegisterAction<bit<32>, bit<1>, bit<32>>(sequence) next = {
        void apply(inout bit<32> number, out bit<32> result) {
            result = number;
            number = number + 1;
        }
    };

    apply {
        md.node.ingress_port = hdr.bridge.ingress_port;
        md.node.egress_port = hdr.bridge.egress_port;
        md.node.ingress_time = hdr.bridge.ingress_time;
        md.node.egress_time = parsed.global_tstamp;
        md.node.queue = (bit<8>) intrinsic.egress_qid;
        md.node.depth = 5w0 ++ intrinsic.enq_qdepth;
        md.node.sink = hdr.bridge.sink[0:0];
        md.node.report = 0;
        if (hdr.bridge.from == MIRRORED) {
            md.node.report = 1;
            md.node.sequence = next.execute(0);
        }
        hdr.bridge.setInvalid();
        // Telemetry that is longer than the packet.
        if (parsed.parser_err != 0) {
            deparser.drop_ctl = 1;
        } else {
            Node.apply(hdr, md.node);
            if (md.node.report == 1 && hdr.telemetry.isValid()) {
                Report.apply(hdr, md.node);
            }
        }
    }
}

control OutDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t deparser) {
    Checksum() ipv4;
    Checksum() report;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
                hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
            });
        }
        if (hdr.report_ipv4.isValid()) {
            hdr.report_ipv4.checksum = report.update({
                hdr.report_ipv4.version, hdr.report_ipv4.ihl, hdr.report_ipv4.dscp, hdr.report_ipv4.ecn, hdr.report_ipv4.length,
                hdr.report_ipv4.id, hdr.report_ipv4.flags, hdr.report_ipv4.offset, hdr.report_ipv4.ttl, hdr.report_ipv4.protocol,
                hdr.report_ipv4.src, hdr.report_ipv4.dst
            });
        }
        packet.emit(hdr);
    }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;
Switch(pipe) main;
