// ID-INT for v1model: a router of SCION's underlay that adds its entry to SCION packets with telemetry, begins telemetry for packets that
// are watched, and reports it where they leave the domain.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#include "scion_headers.p4"

header addresses_t { varbit<256> bits; }
header words_t { varbit<8160> bits; }

struct headers_t {
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
    addresses_t   addresses;
    path_t        path;
    words_t       path_words;
    extension_t   extension;
    main_t        telemetry;
    // The entries of others.
    words_t       before;
    last_t        last;
    words_t       last_words;
    entry_parts_t entry;
    // Padding in the place of this node's entry, and behind it.
    words_t       free;
    padding_t     padding;
    fills_t       fills;
    words_t       more_padding;
}

#include "scion_node.p4"
#include "report.p4"

// What the copy for the collector takes from ingress.
struct copied_t {
    @field_list(1) bit<16> ingress_port;
    @field_list(1) bit<16> egress_port;
    @field_list(1) room_t  room;
}

struct meta_t {
    copied_t copied;
    node_t   node;
    bit<1>   leaves;         // the domain
    bit<32>  session;        // ... and then the clone session to the collector
}

register<bit<32>>(1) sequence;

// The length of what is reported for an instruction: that of MetadatumLength.
bit<8> length_of(in bit<8> instruction) {
    return instruction == 0x01 ? 8w1
        : instruction == 0x44 || instruction == 0x4e || instruction == 0x4f ? 8w2
        : instruction == 0x81 || instruction == 0x82 || instruction == 0x83 ? 8w3 : 8w0;
}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    // Of routers and hosts: the ports where SCION packets go.
    value_set<bit<16>>(16) underlay;
    bit<8> words = 0;
    bit<8> halves = 0;
    bit<8> free = 0;

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
        words = (bit<8>) hdr.scion.dst_words + (bit<8>) hdr.scion.src_words + 2;
        verify(hdr.scion.version == 0 && hdr.scion.words >= SCION_FIXED_WORDS + words, error.HeaderTooShort);
        packet.extract(hdr.addresses, (bit<32>) words << 5);
        words = hdr.scion.words - SCION_FIXED_WORDS - words;
        transition select(hdr.scion.path_type) {
            PATH_SCION: path;
            default: path_words;
        }
    }
    state path {
        verify(words != 0, error.HeaderTooShort);
        packet.extract(hdr.path);
        words = words - 1;
        transition path_words;
    }
    state path_words {
        packet.extract(hdr.path_words, (bit<32>) words << 5);
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
        packet.extract(hdr.before, (bit<32>) hdr.telemetry.top << 5);
        packet.extract(hdr.last);
        verify(hdr.last.type == OPTION_ENTRY && hdr.last.bytes > 3, error.HeaderTooShort);
        words = hdr.last.bytes >> 2;
        packet.extract(hdr.last_words, (bit<32>) (words - 1) << 5);
        halves = length_of(hdr.telemetry.instruction1) + length_of(hdr.telemetry.instruction2) + length_of(hdr.telemetry.instruction3)
            + length_of(hdr.telemetry.instruction4) + (6w0 ++ hdr.telemetry.flags[3:2]) + (7w0 ++ hdr.telemetry.flags[1:1])
            + (7w0 ++ hdr.telemetry.flags[0:0]) + (ENTRY_HALVES + 1);
        meta.copied.room.entry = halves >> 1;
        verify(hdr.telemetry.stack_words >= hdr.telemetry.top && hdr.telemetry.stack_words - hdr.telemetry.top >= words, error.HeaderTooShort);
        free = hdr.telemetry.stack_words - hdr.telemetry.top - words;
        words = free < meta.copied.room.entry ? free : meta.copied.room.entry;
        packet.extract(hdr.free, (bit<32>) words << 5);
        words = free - words;
        transition select(words) {
            0: accept;
            default: padding;
        }
    }
    state padding {
        packet.extract(hdr.padding);
        packet.extract(hdr.more_padding, (bit<32>) (words - 1) << 5);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    FindRoom() find_room;

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
        meta.leaves = 1;
        meta.session = session;
    }
    table sinks {
        key = { std.egress_spec: exact; }
        actions = { leave_domain; NoAction; }
        const default_action = NoAction();
        size = 512;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            if (routes.apply().hit) {
                meta.copied.ingress_port = (bit<16>) std.ingress_port;
                meta.copied.egress_port = (bit<16>) std.egress_spec;
                sinks.apply();
                // Entries that are cut off, or are none, are as good as no telemetry.
                if (hdr.telemetry.isValid() && std.parser_error == error.NoError) {
                    find_room.apply(hdr.extension, hdr.telemetry, hdr.last, meta.copied.room);
                    if (meta.copied.room.ours == 1 && meta.leaves == 1) {
                        meta.node.sink = 1;
                        clone_preserving_field_list(CloneType.I2E, meta.session, 1);
                        if (hdr.telemetry.discard == 1) {
                            drop();
                        }
                    }
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
        // What is no SCION packet, or has telemetry that is none, is passed on as it is.
        if (std.parser_error == error.NoError) {
            ScionNode.apply(hdr, meta.node, meta.copied.room, meta.leaves);
            if (meta.node.report == 1) {
                Report.apply(hdr, meta.node);
            }
            if (meta.node.sink == 1) {
                hdr.before.setInvalid();
                hdr.last.setInvalid();
                hdr.last_words.setInvalid();
                hdr.free.setInvalid();
                hdr.padding.setInvalid();
                hdr.more_padding.setInvalid();
            } else if (hdr.entry.head.isValid()) {
                hdr.free.setInvalid();
            }
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
