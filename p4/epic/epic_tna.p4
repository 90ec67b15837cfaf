// The router for EPIC as one pipe of a Tofino 2: levels 0 and 1, with the cipher SEM (cipher_sem.p4 says what that is worth).
//
// It takes and refuses what epic_router.p4 does with -D EPIC_SEM, by the same tables and reasons, but for what the chip is like:
//
// - One hop field is checked in a pass. At a segment change, where two are of this AS, the packet passes ingress twice, by the
//   pipe's recirculation port: no device can have port 6.
// - Levels 2 and 3 are refused (`LEVEL`): their keys come from AES, for which there is no room beside the cipher.
// - Ingress does not know how long a frame is. A packet that says to be longer than its frame is dropped in egress (`cut_off`).
// - The clock has 48 bits of nanoseconds, 3.26 days. `clock` says when it was at zero.
//
//   parser_tna.p4          frame -> headers around the current hop
//   authenticators_tna.p4  hop authenticators and hop validation fields
//   duplicates_tna.p4      duplicate suppression

#include <core.p4>
#include <t2na.p4>

#include "reasons.p4"
#include "headers.p4"
#include "cipher_sem.p4"
#include "parser_tna.p4"
#include "authenticators_tna.p4"
#include "duplicates_tna.p4"

// Port of the control plane.
const PortId_t CPU_PORT = 64;

// A packet's timestamp counts whole seconds. It is good for two of them; clocks may differ by one.
const bit<32> LIFETIME_S = 2;
const bit<32> SKEW_S     = 1;

// The router itself, and the port by which the packet came.
control FindSource(in headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md) {
    action router_is(bit<64> ia, bit<2> min_level) {
        meta.configured = 1;
        meta.ia = ia;
        meta.min_level = min_level;
    }

    table router {
        actions = { router_is; @defaultonly NoAction; }
        default_action = NoAction();
    }

    action link(bit<16> interface, LinkType type) {
        meta.ingress = interface;
        meta.ingress_type = type;
    }

    // Links to other ASes; behind other ports are hosts.
    table links {
        key = { ig_intr_md.ingress_port: exact @name("port"); }
        actions = { link; @defaultonly NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        router.apply();
        if (hdr.bridge.isValid()) {
            meta.ingress_type = hdr.bridge.ingress_type;
        } else {
            links.apply();
        }
    }
}

// Seconds since 1970. A clock that counts 2^20 ns is 1.0737418 times one that counts seconds / 1024:
// 1 + 2^-4 + 2^-7 + 2^-8 - 2^-11 + 2^-17 + 2^-18, 25 ms too fast in three days.
control ReadClock(in ingress_intrinsic_metadata_from_parser_t ig_prsr_md, out bit<32> seconds) {
    bit<32> start = 0;
    bit<32> start_rest = 0;
    bit<32> ticks = 0;
    bit<32> a = 0;
    bit<32> b = 0;
    bit<32> c = 0;
    bit<32> d = 0;

    // When the chip's clock was at zero: seconds since 1970, and 1024ths of a second.
    action zero_was(bit<32> at, bit<32> rest) {
        start = at;
        start_rest = rest;
    }

    table clock {
        actions = { zero_was; }
        default_action = zero_was(0, 0);
    }

    apply {
        clock.apply();
        ticks = 4w0 ++ ig_prsr_md.global_tstamp[47:20];
        a = ticks + (ticks >> 4);
        b = (ticks >> 7) + (ticks >> 8);
        c = (ticks >> 17) + (ticks >> 18);
        d = start_rest - (ticks >> 11);
        a = a + b;
        c = c + d;
        a = a + c;
        seconds = start + (a >> 10);
    }
}

// Is the packet fresh, and has the hop not expired? The second pass is about its own hop.
control CheckTimes(in headers_t hdr, inout metadata_t meta, in bit<32> now) {
    bit<32> sent = 0;
    bit<32> age = 0;
    bit<32> steps = 0;
    bit<32> a = 0;
    bit<32> b = 0;
    bit<32> left = 0;

    apply {
        sent = hdr.path.timestamp - SKEW_S;
        age = now - sent;
        if (!hdr.bridge.isValid()) {
            if (age[31:31] == 1) {
                meta.from_future = 1;
            } else if (age > LIFETIME_S + 2 * SKEW_S) {
                meta.stale = 1;
            }
        }
        // A hop is good until timestamp + (1 + exp_time) * 337.5 s, here less than a second longer, as `now` has whole seconds.
        steps = (bit<32>) hdr.hop.exp_time + 1;
        a = (steps << 8) + (steps << 6);
        b = (steps << 4) + steps;
        a = a + (steps >> 1);
        left = a + b;
        left = left - (now - hdr.info.timestamp);
        if (left[31:31] == 1) {
            meta.expired = 1;
        }
    }
}

// May the packet come this way, as far as its header says?
control CheckPath(in headers_t hdr, inout metadata_t meta) {
    // In hops.
    bit<8> current = 0;
    bit<8> two_segments = 0;
    bit<8> all_segments = 0;
    bit<8> behind_start = 0;
    bit<8> before_end = 0;
    bit<8> to_end_of_path = 0;
    // In words.
    bit<8> addresses = 0;
    bit<8> hops = 0;
    bit<8> rest = 0;
    bit<16> entered = 0;
    bit<64> source = 0;
    bit<64> destination = 0;

    apply {
        current = (bit<8>) hdr.path.curr_hf;
        two_segments = (bit<8>) hdr.path.seg0_len + (bit<8>) hdr.path.seg1_len;
        all_segments = two_segments + (bit<8>) hdr.path.seg2_len;
        if (hdr.path.curr_inf == 0) {
            before_end = (bit<8>) hdr.path.seg0_len - current;
        } else if (hdr.path.curr_inf == 1) {
            behind_start = current - (bit<8>) hdr.path.seg0_len;
            before_end = two_segments - current;
        } else {
            behind_start = current - two_segments;
            before_end = all_segments - current;
        }
        to_end_of_path = all_segments - current;
        // Common header and AS numbers, host addresses, path meta header, info fields, hop fields: nothing else.
        addresses = (bit<8>) hdr.scion.dst_len + (bit<8>) hdr.scion.src_len;
        rest = hdr.scion.hdr_len - meta.fixed_words;
        rest = rest - addresses;
        hops = all_segments + (all_segments << 1);
        rest = rest - hops;
        // An empty segment has no hop that could be the current one.
        if (hdr.path.seg0_len == 0 || behind_start[7:7] == 1 || before_end[7:7] == 1 || before_end == 0) {
            meta.outside = 1;
        }
        if (all_segments > MAX_HOPS || rest != 0) {
            meta.wrong_length = 1;
        }
        if (before_end == 1) {
            meta.last_of_segment = 1;
        }
        if (to_end_of_path == 1) {
            meta.last_of_path = 1;
        }

        if (hdr.scion.level < meta.min_level || hdr.scion.level > 1) {
            meta.wrong_level = 1;
        }
        entered = hdr.hop.cons_egress;
        if (hdr.info.cons_dir == 1) {
            entered = hdr.hop.cons_ingress;
        }
        if (!hdr.bridge.isValid() && (entered != meta.ingress || (meta.ingress == 0 && current != 0))) {
            meta.wrong_ingress = 1;
        }
        source = hdr.scion.src_ia ^ meta.ia;
        destination = hdr.scion.dst_ia ^ meta.ia;
        if (source == 0) {
            meta.own_source = 1;
        }
        if (destination == 0) {
            meta.own_destination = 1;
        }
        if (meta.ingress == 0) {
            meta.from_host = 1;
        }
        if (hdr.bridge.isValid()) {
            // The first pass has checked this.
            meta.from_host = meta.own_source;
        }
    }
}

// Where the packet goes.
control FindTarget(in headers_t hdr, inout metadata_t meta) {
    bit<128> host = 0;
    bit<16> egress = 0;

    action send(PortId_t port, bit<48> dst_mac, bit<48> src_mac, LinkType type) {
        meta.egress_port = port;
        meta.egress_mac = dst_mac;
        meta.own_mac = src_mac;
        meta.egress_type = type;
    }

    action no_interface() {
        meta.no_egress = 1;
    }

    table interfaces {
        key = { egress: exact @name("interface"); }
        actions = { send; @defaultonly no_interface; }
        default_action = no_interface();
        size = 512;
    }

    action deliver(PortId_t port, bit<48> dst_mac, bit<48> src_mac) {
        meta.egress_port = port;
        meta.egress_mac = dst_mac;
        meta.own_mac = src_mac;
    }

    action no_host() {
        meta.no_host = 1;
    }

    // Addresses shorter than 16 bytes have zeros in front.
    table hosts {
        key = {
            hdr.scion.dst_type ++ hdr.scion.dst_len: exact @name("type");
            host: exact @name("address");
        }
        actions = { deliver; @defaultonly no_host; }
        default_action = no_host();
        size = 4096;
    }

    action no_transit() {
        meta.no_transit = 1;
    }

    // No AS carries traffic between two that do not pay for it. In the second pass, between two segments.
    table transits {
        key = {
            hdr.bridge.isValid(): exact @name("second");
            meta.ingress_type: exact;
            meta.egress_type: exact;
        }
        actions = { no_transit; NoAction; }
        const default_action = no_transit();
        const entries = {
            (false, LinkType.HOST, LinkType.CORE): NoAction();
            (false, LinkType.HOST, LinkType.PARENT): NoAction();
            (false, LinkType.HOST, LinkType.CHILD): NoAction();
            (false, LinkType.CORE, LinkType.CORE): NoAction();
            (false, LinkType.CHILD, LinkType.PARENT): NoAction();
            (false, LinkType.PARENT, LinkType.CHILD): NoAction();
            (true, LinkType.HOST, LinkType.CORE): NoAction();
            (true, LinkType.HOST, LinkType.PARENT): NoAction();
            (true, LinkType.HOST, LinkType.CHILD): NoAction();
            (true, LinkType.CHILD, LinkType.CORE): NoAction();
            (true, LinkType.CHILD, LinkType.CHILD): NoAction();
            (true, LinkType.CORE, LinkType.CHILD): NoAction();
        }
        size = 32;
    }

    apply {
        if (hdr.dst4.isValid()) {
            host = 96w0 ++ hdr.dst4.addr;
        } else if (hdr.dst8.isValid()) {
            host = 64w0 ++ hdr.dst8.addr;
        } else if (hdr.dst12.isValid()) {
            host = 32w0 ++ hdr.dst12.addr;
        } else {
            host = hdr.dst16.addr;
        }
        egress = hdr.hop.cons_ingress;
        if (hdr.info.cons_dir == 1) {
            egress = hdr.hop.cons_egress;
        }
        if (meta.last_of_path == 1) {
            hosts.apply();
        } else if (meta.last_of_segment == 0) {
            interfaces.apply();
            transits.apply();
        } else if (hdr.bridge.isValid()) {
            // A segment of one hop between two others.
            meta.no_transit = 1;
        }
    }
}

// What becomes of the packet: the first reason that there is.
control Decide(in headers_t hdr, inout metadata_t meta) {
    action refuse(Reason reason) {
        meta.reason = reason;
    }

    table verdicts {
        key = {
            meta.configured: ternary;
            meta.epic: ternary;
            meta.failed: ternary;
            hdr.scion.version_class_flow[31:28]: ternary @name("version");
            meta.outside: ternary;
            meta.wrong_length: ternary;
            hdr.info.peering: ternary;
            meta.wrong_level: ternary;
            meta.wrong_ingress: ternary;
            meta.own_source: ternary;
            meta.from_host: ternary;
            meta.own_destination: ternary;
            meta.last_of_path: ternary;
            meta.expired: ternary;
            meta.stale: ternary;
            meta.from_future: ternary;
            meta.no_egress: ternary;
            meta.no_host: ternary;
            meta.no_transit: ternary;
            meta.chain: ternary;
            meta.validation: ternary;
        }
        actions = { refuse; NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.NOT_CONFIGURED);
            (_, 0, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.NOT_EPIC);
            (_, 0, 1, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.MALFORMED);
            (_, _, _, 0, _, _, _, 1, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.LEVEL);
            (_, _, 1, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.MALFORMED);
            (_, _, _, 0, 1, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.MALFORMED);
            (_, _, _, 0, _, 1, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.MALFORMED);
            (_, _, _, 0, _, _, 1, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.PEERING);
            (_, _, _, 0, _, _, _, _, 1, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.UNKNOWN_INGRESS);
            (_, _, _, 0, _, _, _, _, _, 1, 0, _, _, _, _, _, _, _, _, _, _): refuse(Reason.INVALID_SOURCE);
            (_, _, _, 0, _, _, _, _, _, 0, 1, _, _, _, _, _, _, _, _, _, _): refuse(Reason.INVALID_SOURCE);
            (_, _, _, 0, _, _, _, _, _, _, _, 1, 0, _, _, _, _, _, _, _, _): refuse(Reason.INVALID_DESTINATION);
            (_, _, _, 0, _, _, _, _, _, _, _, 0, 1, _, _, _, _, _, _, _, _): refuse(Reason.INVALID_DESTINATION);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, 1, _, _, _, _, _, _, _): refuse(Reason.PATH_EXPIRED);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, 1, _, _, _, _, _, _): refuse(Reason.STALE);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, 1, _, _, _, _, _): refuse(Reason.FROM_FUTURE);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, 1, _, _, _, _): refuse(Reason.UNKNOWN_EGRESS);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, 1, _, _, _): refuse(Reason.NO_HOST);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, 1, _, _): refuse(Reason.SEGMENT_CHANGE);
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, 0, 0): NoAction();
            (_, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.HOP_AUTHENTICATOR);
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(Reason.VERSION);
        }
        size = 32;
    }

    apply {
        verdicts.apply();
    }
}

control EpicIngress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    FindSource() find_source;
    ReadClock() read_clock;
    CheckTimes() check_times;
    CheckPath() check_path;
    FindTarget() find_target;
    CheckHop() check_hop;
    Decide() decide;
    CheckDuplicate() check_duplicate;
    // By Reason; NONE counts the forwarded packets.
    Counter<bit<64>, bit<8>>(REASON_COUNT, CounterType_t.PACKETS_AND_BYTES) reasons;
    bit<32> now = 0;
    bit<16> seg_id = 0;
    bit<16> next_seg_id = 0;

    apply {
        if (ig_prsr_md.parser_err != PARSER_ERROR_OK) {
            meta.failed = 1;
        }
        find_source.apply(hdr, meta, ig_intr_md);
        read_clock.apply(ig_prsr_md, now);
        // Against construction direction the router at the entry takes this hop out of the chain.
        seg_id = hdr.info.seg_id;
        if (hdr.info.cons_dir == 0 && meta.ingress != 0) {
            seg_id = seg_id ^ hdr.hop.chain;
        }
        check_path.apply(hdr, meta);
        check_times.apply(hdr, meta, now);
        find_target.apply(hdr, meta);
        check_hop.apply(hdr, meta, seg_id);
        next_seg_id = seg_id;
        if (hdr.info.cons_dir == 1 && meta.last_of_segment == 0) {
            next_seg_id = seg_id ^ hdr.hop.chain;
        }
        if (meta.last_of_segment == 1 && meta.last_of_path == 0) {
            meta.again = 1;
        }
        decide.apply(hdr, meta);
        check_duplicate.apply(hdr, meta, ig_prsr_md.global_tstamp);

        if (meta.reason == Reason.NONE) {
            hdr.info.seg_id = next_seg_id;
            if (meta.last_of_path == 0) {
                hdr.path.curr_hf = hdr.path.curr_hf + 1;
            }
            if (meta.again == 1) {
                // The next hop field is of this AS, too.
                hdr.path.curr_inf = hdr.path.curr_inf + 1;
                hdr.bridge.setValid();
                hdr.bridge.ingress_type = meta.ingress_type;
                hdr.bridge.reserved = 0;
                ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port[8:7] ++ RECIRCULATION_PORT;
            } else {
                hdr.bridge.setInvalid();
                hdr.ethernet.dst = meta.egress_mac;
                hdr.ethernet.src = meta.own_mac;
                ig_tm_md.ucast_egress_port = meta.egress_port;
            }
        } else if ((bit<8>) meta.reason < PUNT_FIRST) {
            ig_dprsr_md.drop_ctl = 1;
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.reason = (bit<8>) meta.reason;
            hdr.packet_in.level = 6w0 ++ hdr.scion.level;
            hdr.packet_in.port = (bit<16>) ig_intr_md.ingress_port;
            hdr.packet_in.ingress = meta.ingress;
            ig_tm_md.ucast_egress_port = CPU_PORT;
            ig_tm_md.bypass_egress = 1;
        }
        if (meta.reason != Reason.NONE || meta.again == 0) {
            reasons.count((bit<8>) meta.reason);
        }
    }
}

control EpicIngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                            in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(hdr);
    }
}

@noWarn("target")
control EpicEgress(inout egress_headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
                   in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                   inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                   inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    // Packets that say to be longer than their frame, by egress port.
    Counter<bit<64>, PortId_t>(512, CounterType_t.PACKETS_AND_BYTES) cut_off;
    bit<16> shortest = 0;

    apply {
        if (hdr.scion.isValid()) {
            // Bytes behind the payload are padding of the frame. The chip counts the frame check sequence, so that a packet passes
            // there that lacks four bytes.
            shortest = 6w0 ++ hdr.scion.hdr_len ++ 2w0;
            shortest = shortest |+| hdr.scion.payload_len;
            shortest = shortest |+| (bit<16>) ETHERNET_BYTES;
            if (eg_intr_md.pkt_length |-| shortest == 0 && eg_intr_md.pkt_length != shortest) {
                eg_dprsr_md.drop_ctl = 1;
                cut_off.count(eg_intr_md.egress_port);
            }
        }
    }
}

control EpicEgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_metadata_t meta,
                           in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(EpicIngressParser(), EpicIngress(), EpicIngressDeparser(),
         EpicEgressParser(), EpicEgress(), EpicEgressDeparser()) pipe;

Switch(pipe) main;
