// ID-INT for Tofino 2: a router of SCION's underlay that adds its entry to SCION packets with telemetry, begins telemetry for packets that are
// watched, and reports it where they leave the domain. Ingress finds the way and the room, and mirrors packets for the collector; egress is
// the node.

#include <core.p4>
#include <t2na.p4>
#include "headers.p4"
#include "scion_headers.p4"

const bit<8> FROM_INGRESS = 1;
const bit<8> MIRRORED = 2;

header word_t { bit<32> value; }

// In front of a packet between ingress and egress, and of a mirrored one.
header bridge_t {
    bit<8>  from;
    bit<8>  leaves;          // the domain
    bit<8>  sink;            // ... and telemetry is taken off
    bit<8>  adds;
    bit<8>  full;
    bit<8>  entry;           // in words, as `room_t` has them; none if the node adds nothing
    bit<8>  behind;
    bit<8>  top;
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
    udp_rest_t    udp;
    scion_t       scion;
    word_t[8]     addresses;
    path_t        path;
    word_t[120]   path_words;
    extension_t   extension;
    main_t        telemetry;
    // The entries of others.
    word_t[60]    before;
    last_t        last;
    word_t[15]    last_words;
    entry_parts_t entry;
    padding_t     padding;
    fills_t       fills;
}

#include "scion_node.p4"
#include "report.p4"

struct ingress_metadata_t {
    MirrorId_t session;
    room_t     room;
    bit<16>    ingress_port;
    bit<16>    egress_port;
    bit<48>    ingress_time;
}

struct egress_metadata_t {
    node_t node;
    room_t room;
    bit<1> leaves;
}

// From Ethernet to the main option. Headers of up to 127 words; a longer one is an error, as is one that its addresses do not fit.
parser Headers(packet_in packet, inout headers_t hdr) {
    // Of routers and hosts: the ports where SCION packets go.
    value_set<bit<16>>(16) underlay;
    ParserCounter() left;

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
            (4, 5, 0, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.ports);
        packet.extract(hdr.udp);
        transition select(hdr.ports.dst) {
            underlay: scion;
            default: accept;
        }
    }
    state scion {
        packet.extract(hdr.scion);
        left.set(hdr.scion.words, 255, 0, 0xff, -(bit<8>) SCION_FIXED_WORDS);
        transition select(hdr.scion.version, hdr.scion.dst_words) {
            (0, 0): dst1;
            (0, 1): dst2;
            (0, 2): dst3;
            (0, 3): dst4;
        }
    }
    state dst4 { packet.extract(hdr.addresses.next); left.decrement(1); transition dst3; }
    state dst3 { packet.extract(hdr.addresses.next); left.decrement(1); transition dst2; }
    state dst2 { packet.extract(hdr.addresses.next); left.decrement(1); transition dst1; }
    state dst1 {
        packet.extract(hdr.addresses.next);
        left.decrement(1);
        transition select(hdr.scion.src_words) {
            0: src1;
            1: src2;
            2: src3;
            3: src4;
        }
    }
    state src4 { packet.extract(hdr.addresses.next); left.decrement(1); transition src3; }
    state src3 { packet.extract(hdr.addresses.next); left.decrement(1); transition src2; }
    state src2 { packet.extract(hdr.addresses.next); left.decrement(1); transition src1; }
    state src1 {
        packet.extract(hdr.addresses.next);
        left.decrement(1);
        transition select(hdr.scion.path_type) {
            PATH_SCION: path;
            default: path_words;
        }
    }
    state path {
        packet.extract(hdr.path);
        left.decrement(1);
        transition path_words;
    }
    state path_words {
        transition select(left.is_zero(), left.is_negative()) {
            (true, false): behind;
            (false, false): path_word;
        }
    }
    state path_word {
        packet.extract(hdr.path_words.next);
        left.decrement(1);
        transition path_words;
    }
    state behind {
        transition select(hdr.scion.next) {
            HOP_BY_HOP_EXTENSION: extension;
            default: accept;
        }
    }
    state extension {
        packet.extract(hdr.extension);
        bit<16> option = packet.lookahead<bit<16>>();
        transition select(option[15:8], option[7:0]) {
            (OPTION_MAIN, MAIN_BYTES): telemetry;
            default: accept;
        }
    }
    state telemetry {
        packet.extract(hdr.telemetry);
        transition accept;
    }
}

// The entries of others.
parser Entries(packet_in packet, inout headers_t hdr) {
    ParserCounter() left;

    state start {
        left.set(hdr.telemetry.top);
        transition before;
    }
    state before {
        transition select(left.is_zero()) {
            true: last;
            false: word;
        }
    }
    state word {
        packet.extract(hdr.before.next);
        left.decrement(1);
        transition before;
    }
    state last {
        packet.extract(hdr.last);
        left.set(hdr.last.bytes, 63, 2, 0x3f, -1);
        transition select(hdr.last.type) {
            OPTION_ENTRY: last_words;
        }
    }
    state last_words {
        transition select(left.is_zero()) {
            true: accept;
            false: last_word;
        }
    }
    state last_word {
        packet.extract(hdr.last_words.next);
        left.decrement(1);
        transition last_words;
    }
}

parser InParser(packet_in packet, out headers_t hdr, out ingress_metadata_t md, out ingress_intrinsic_metadata_t intrinsic) {
    Headers() headers;
    Entries() entries;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        headers.apply(packet, hdr);
        transition select(hdr.telemetry.isValid()) {
            true: stack;
            false: accept;
        }
    }
    state stack {
        entries.apply(packet, hdr);
        transition accept;
    }
}

control In(inout headers_t hdr, inout ingress_metadata_t md, in ingress_intrinsic_metadata_t intrinsic,
           in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
           inout ingress_intrinsic_metadata_for_tm_t tm) {
    EntryWords() entry_words;
    FindRoom() find_room;

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
        hdr.bridge.leaves = 1;
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
        hdr.bridge.leaves = 0;
        hdr.bridge.sink = 0;
        md.room = { 0, 0, 0, 0, 0, 0 };
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            switch (routes.apply().action_run) {
                send: { sinks.apply(); }
            }
            // Entries that are cut off, or are none, are as good as no telemetry.
            if (hdr.telemetry.isValid() && parsed.parser_err == PARSER_ERROR_OK) {
                entry_words.apply(hdr.telemetry, md.room.entry);
                find_room.apply(hdr.extension, hdr.telemetry, hdr.last, md.room);
                if (md.room.ours == 1 && hdr.bridge.leaves == 1) {
                    hdr.bridge.sink = 1;
                    deparser.mirror_type = 1;
                    if (hdr.telemetry.discard == 1) {
                        drop();
                    }
                }
            }
        } else {
            drop();
        }
        if (md.room.adds == 0) {
            md.room.entry = 0;
        }
        hdr.bridge.adds = 7w0 ++ md.room.adds;
        hdr.bridge.full = 7w0 ++ md.room.full;
        hdr.bridge.entry = md.room.entry;
        hdr.bridge.behind = md.room.behind;
        hdr.bridge.top = md.room.top;
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
            mirror.emit<bridge_t>(md.session, { MIRRORED, 0, 0, 7w0 ++ md.room.adds, 7w0 ++ md.room.full, md.room.entry, md.room.behind,
                md.room.top, md.ingress_port, md.egress_port, md.ingress_time });
        }
        packet.emit(hdr);
    }
}

parser OutParser(packet_in packet, out headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t intrinsic) {
    Headers() headers;
    Entries() entries;
    ParserCounter() words;

    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.bridge);
        headers.apply(packet, hdr);
        transition select(hdr.bridge.sink, hdr.bridge.adds, hdr.telemetry.isValid()) {
            (1, _, true): whole_stack;
            (0, 1, true): stack;
            default: accept;
        }
    }
    // A sink takes off all of it.
    state whole_stack {
        words.set(hdr.telemetry.stack_words);
        transition more;
    }
    // A node's entry takes the place of padding.
    state stack {
        entries.apply(packet, hdr);
        words.set(hdr.bridge.entry);
        transition more;
    }
    state more {
        transition select(words.is_zero()) {
            true: behind;
            false: word;
        }
    }
    state word {
        packet.advance(32);
        words.decrement(1);
        transition more;
    }
    state behind {
        transition select(hdr.bridge.sink, hdr.bridge.behind) {
            (1, _): accept;
            (_, 0): accept;
            default: padding;
        }
    }
    state padding {
        packet.extract(hdr.padding);
        transition accept;
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
        md.leaves = hdr.bridge.leaves[0:0];
        md.node.sink = hdr.bridge.sink[0:0];
        md.node.report = 0;
        if (hdr.bridge.from == MIRRORED) {
            md.node.report = 1;
        }
        md.room.entry = hdr.bridge.entry;
        md.room.behind = hdr.bridge.behind;
        md.room.top = hdr.bridge.top;
        md.room.adds = hdr.bridge.adds[0:0];
        md.room.full = hdr.bridge.full[0:0];
        hdr.bridge.setInvalid();
        // What is no SCION packet, or has telemetry that is none, is passed on as it is.
        if (parsed.parser_err == PARSER_ERROR_OK) {
            ScionNode.apply(hdr, md.node, md.room, md.leaves);
            if (md.node.report == 1) {
                md.node.sequence = next.execute(0);
                Report.apply(hdr, md.node);
            }
        } else if (md.node.sink == 1 || md.room.adds == 1) {
            // The packet ends within its stack, of which the parser has passed over a part.
            deparser.drop_ctl = 1;
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
