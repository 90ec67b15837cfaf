// A router for EPIC, every packet is checked (Legner et al., USENIX Security 2020): SCION paths whose hop fields prove more
// and more from level to level.
//
//   level 0   this AS has allowed the hop
//   level 1   ... and the packet is fresh and was sent by somebody who may use the path
//   level 2   ... and comes from the host that it says
//   level 3   ... and source and destination can tell that it took the path
//
// A packet says its level by its path type; the control plane says which level is the lowest that the router takes.
//
//   parser.p4          frame -> headers around the current hop
//   authenticators.p4  hop authenticators and hop validation fields, by level
//   cipher_aes.p4      AES-128; with -D EPIC_SEM instead of it
//   cipher_sem.p4      the Even-Mansour cipher in tables
//   duplicates.p4      duplicate suppression
//   reasons.p4         why a packet is dropped or goes to the CPU port
//
// Underlay is Ethernet: a link to another AS or to a host is a port. The router is the only one of its AS. Written for
// v1model with the AES blocks of crypto.p4. docs/epic.md has the packet format.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

#include "reasons.p4"
#include "headers.p4"
#include "parser.p4"
#ifdef EPIC_SEM
#include "cipher_sem.p4"
#else
#include "cipher_aes.p4"
#endif
#include "authenticators.p4"
#include "duplicates.p4"

// Port of the control plane.
const bit<9> CPU_PORT = 510;

// A packet's timestamp counts whole seconds. It is good for two of them; clocks may differ by one.
const bit<32> LIFETIME_S = 2;
const bit<32> SKEW_S     = 1;

// A hop is good until timestamp + (1 + exp_time) * 24 h / 256.
bool is_expired(in bit<32> timestamp, in bit<8> exp_time, in bit<64> now) {
    return (bit<64>) timestamp * 1000000 + ((bit<64>) exp_time + 1) * 337500000 < now;
}

// SegID before or after a hop: the same operation does both.
bit<16> next_seg_id(in bit<16> seg_id, in hop_t hop) {
    return seg_id ^ hop.chain;
}

// The router itself, and the port by which the packet came.
control FindSource(inout metadata_t meta, in standard_metadata_t std) {
    // clock_offset + ingress_global_timestamp is the time in microseconds since 1970.
    action router_is(bit<64> ia, bit<64> clock_offset, bit<2> min_level) {
        meta.ia = ia;
        meta.now = clock_offset + (bit<64>) std.ingress_global_timestamp;
        meta.min_level = min_level;
    }

    action not_configured() {
        meta.reason = Reason.NOT_CONFIGURED;
    }

    table router {
        actions = { router_is; @defaultonly not_configured; }
        default_action = not_configured();
    }

    action link(bit<16> interface, LinkType type) {
        meta.ingress = interface;
        meta.ingress_type = type;
    }

    // Links to other ASes; behind other ports are hosts.
    table links {
        key = { std.ingress_port: exact @name("port"); }
        actions = { link; @defaultonly NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        router.apply();
        links.apply();
    }
}

// May the packet come this way, as far as its header says?
control CheckPath(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    bit<32> age = 0;

    apply {
        if (!hdr.scion.isValid() || hdr.scion.path_type != PATH_EPIC) {
            meta.reason = std.parser_error == error.NoError ? Reason.NOT_EPIC : Reason.MALFORMED;
            return;
        }
        // Other versions may have another format behind the first bits.
        if (hdr.scion.version_class_flow[31:28] != 0) {
            meta.reason = Reason.VERSION;
            return;
        }
        // Bytes behind the payload are padding of the frame.
        if (std.parser_error != error.NoError
            || ETHERNET_BYTES + ((bit<32>) hdr.scion.hdr_len << 2) + (bit<32>) hdr.scion.payload_len > std.packet_length) {
            meta.reason = Reason.MALFORMED;
            return;
        }
        if (hdr.info.peering == 1 || (hdr.info_next.isValid() && hdr.info_next.peering == 1)) {
            meta.reason = Reason.PEERING;
            return;
        }
        if (hdr.scion.level < meta.min_level) {
            meta.reason = Reason.LEVEL;
            return;
        }
        if ((hdr.info.cons_dir == 1 ? hdr.hop.cons_ingress : hdr.hop.cons_egress) != meta.ingress
            || (meta.ingress == 0 && hdr.path.curr_hf != 0)) {
            meta.reason = Reason.UNKNOWN_INGRESS;
            return;
        }
        if ((hdr.scion.src_ia == meta.ia) != (meta.ingress == 0)) {
            meta.reason = Reason.INVALID_SOURCE;
            return;
        }
        if ((hdr.scion.dst_ia == meta.ia) != (meta.last_of_path == 1)) {
            meta.reason = Reason.INVALID_DESTINATION;
            return;
        }
        if (is_expired(hdr.info.timestamp, hdr.hop.exp_time, meta.now)
            || (hdr.hop_next.isValid() && is_expired(hdr.info_next.timestamp, hdr.hop_next.exp_time, meta.now))) {
            meta.reason = Reason.PATH_EXPIRED;
        }
    }
}

// Is the packet fresh? At level 0 anybody can write another timestamp.
control CheckFresh(in headers_t hdr, inout metadata_t meta) {
    bit<64> seconds = 0;
    bit<32> age = 0;

    apply {
        seconds = meta.now / 1000000;
        age = seconds[31:0] + SKEW_S - hdr.path.timestamp;
        if (age > LIFETIME_S + 2 * SKEW_S) {
            meta.reason = age[31:31] == 1 ? Reason.FROM_FUTURE : Reason.STALE;
        }
    }
}

// Where the packet goes.
control FindTarget(in headers_t hdr, inout metadata_t meta) {
    bit<128> host = 0;

    action send(bit<9> port, bit<48> dst_mac, bit<48> src_mac, LinkType type) {
        meta.egress_port = port;
        meta.egress_mac = dst_mac;
        meta.own_mac = src_mac;
        meta.egress_type = type;
    }

    action no_interface() {
        meta.reason = Reason.UNKNOWN_EGRESS;
    }

    table interfaces {
        key = { meta.egress: exact @name("interface"); }
        actions = { send; @defaultonly no_interface; }
        default_action = no_interface();
        size = 512;
    }

    action deliver(bit<9> port, bit<48> dst_mac, bit<48> src_mac) {
        meta.egress_port = port;
        meta.egress_mac = dst_mac;
        meta.own_mac = src_mac;
    }

    action no_host() {
        meta.reason = Reason.NO_HOST;
    }

    // Addresses shorter than 16 bytes have zeros in front.
    table hosts {
        key = {
            hdr.scion.dst_type ++ hdr.scion.dst_len: exact @name("type");
            host: exact @name("address");
        }
        actions = { deliver; @defaultonly no_host; }
        default_action = no_host();
        size = 65536;
    }

    apply {
        if (meta.last_of_path == 1) {
            if (hdr.dst4.isValid()) {
                host = 96w0 ++ hdr.dst4.addr;
            } else if (hdr.dst8.isValid()) {
                host = 64w0 ++ hdr.dst8.addr;
            } else if (hdr.dst12.isValid()) {
                host = 32w0 ++ hdr.dst12.addr;
            } else {
                host = hdr.dst16.addr;
            }
            hosts.apply();
            return;
        }
        if (hdr.hop_next.isValid()) {
            meta.egress = hdr.info_next.cons_dir == 1 ? hdr.hop_next.cons_egress : hdr.hop_next.cons_ingress;
        } else {
            meta.egress = hdr.info.cons_dir == 1 ? hdr.hop.cons_egress : hdr.hop.cons_ingress;
        }
        interfaces.apply();
        // No AS carries traffic between two that do not pay for it.
        if (meta.reason == Reason.NONE && meta.ingress != 0) {
            if (hdr.hop_next.isValid()
                    ? !(meta.ingress_type == LinkType.CHILD && meta.egress_type != LinkType.PARENT)
                      && !(meta.ingress_type == LinkType.CORE && meta.egress_type == LinkType.CHILD)
                    : !(meta.ingress_type == LinkType.CORE && meta.egress_type == LinkType.CORE)
                      && !(meta.ingress_type == LinkType.CHILD && meta.egress_type == LinkType.PARENT)
                      && !(meta.ingress_type == LinkType.PARENT && meta.egress_type == LinkType.CHILD)) {
                meta.reason = Reason.SEGMENT_CHANGE;
            }
        }
    }
}

// The hop field, or at a segment change both, and the path for the next router.
control CheckHops(inout headers_t hdr, inout metadata_t meta) {
    DeriveSourceKey() derive_source_key;
    CheckHop() check_hop;
    bool good = true;

    apply {
        // Against construction direction the router at the entry takes this hop out of the chain.
        meta.seg_id = hdr.info.seg_id;
        if (hdr.info.cons_dir == 0 && meta.ingress != 0) {
            meta.seg_id = next_seg_id(meta.seg_id, hdr.hop);
        }
        if (hdr.scion.level >= 2) {
            derive_source_key.apply(hdr, meta.source_key);
        }
        check_hop.apply(hdr, meta, meta.seg_id, hdr.info.timestamp, hdr.hop, good);
        if (good && hdr.hop_next.isValid()) {
            check_hop.apply(hdr, meta, hdr.info_next.seg_id, hdr.info_next.timestamp, hdr.hop_next, good);
        }
        if (!good) {
            meta.reason = Reason.HOP_AUTHENTICATOR;
        }
    }
}

control AdvancePath(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.info.seg_id = meta.seg_id;
        if (meta.last_of_path == 1) {
            return;
        }
        hdr.path.curr_hf = hdr.path.curr_hf + 1;
        if (hdr.hop_next.isValid()) {
            hdr.path.curr_hf = hdr.path.curr_hf + 1;
            hdr.path.curr_inf = hdr.path.curr_inf + 1;
            if (hdr.info_next.cons_dir == 1) {
                hdr.info_next.seg_id = next_seg_id(hdr.info_next.seg_id, hdr.hop_next);
            }
        } else if (hdr.info.cons_dir == 1) {
            hdr.info.seg_id = next_seg_id(meta.seg_id, hdr.hop);
        }
    }
}

control EpicVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control EpicIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    FindSource() find_source;
    CheckPath() check_path;
    CheckFresh() check_fresh;
    FindTarget() find_target;
    CheckHops() check_hops;
    CheckDuplicate() check_duplicate;
    AdvancePath() advance_path;

    // By Reason; NONE counts the forwarded packets.
    counter(REASON_COUNT, CounterType.packets_and_bytes) reasons;

    apply {
        find_source.apply(meta, std);
        if (meta.reason == Reason.NONE) {
            check_path.apply(hdr, meta, std);
        }
        if (meta.reason == Reason.NONE) {
            check_fresh.apply(hdr, meta);
        }
        // What may be punted is decided before the first change.
        if (meta.reason == Reason.NONE) {
            find_target.apply(hdr, meta);
        }
        if (meta.reason == Reason.NONE) {
            check_hops.apply(hdr, meta);
        }
        if (meta.reason == Reason.NONE) {
            check_duplicate.apply(hdr, meta);
        }
        reasons.count((bit<32>) (bit<8>) meta.reason);

        if (meta.reason == Reason.NONE) {
            advance_path.apply(hdr, meta);
            hdr.ethernet.dst = meta.egress_mac;
            hdr.ethernet.src = meta.own_mac;
            std.egress_spec = meta.egress_port;
        } else if ((bit<8>) meta.reason < PUNT_FIRST) {
            mark_to_drop(std);
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.reason = (bit<8>) meta.reason;
            hdr.packet_in.level = 6w0 ++ hdr.scion.level;
            hdr.packet_in.port = (bit<16>) std.ingress_port;
            hdr.packet_in.ingress = meta.ingress;
            std.egress_spec = CPU_PORT;
        }
    }
}

control EpicEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control EpicComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control EpicDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(EpicParser(), EpicVerifyChecksum(), EpicIngress(), EpicEgress(), EpicComputeChecksum(), EpicDeparser()) main;
