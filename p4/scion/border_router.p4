// The SCION border router's fast path.
//
// A border router connects an autonomous system (AS) to its neighbours. Packets carry their whole path; the
// router finds its own hop in it, checks that its AS has authorised that hop (a MAC), and sends the packet
// on: to a neighbour AS, to the border router of its own AS that has the right link, or to a host.
//
//   parser.p4     frame -> headers around the current hop
//   links.p4      which link the packet came by; which links there are to leave by
//   path.p4       may it come this way and go that way?    mac.p4  hop authentication and expiry
//   one_hop.p4    the special path between neighbours that know no path yet
//   epic.p4       the path type whose packets prove each for itself that they may use the path
//   bfd.p4        what the agent hears of the routers at the other ends of its links
//   delivery.p4   hosts and services of this AS
//   underlay.p4   new Ethernet, IP and UDP headers       checksum.p4  one's complement sums
//   counters.p4   what is counted                       features.p4  sizes, and what may be left out
//   reasons.p4    why a packet is dropped or goes to the CPU port
//
// Every packet ends in one of three ways. It is forwarded, if each check has passed. It is dropped, if it makes
// no sense and nobody should be told. Or it is punted to the CPU port, unmodified and with the reason, if
// somebody has to answer it. So that "unmodified" costs nothing, all checks that may punt come before the first
// change.
//
// Written for v1model; the only addition is the AES core of crypto.p4. Behaviour follows the reference
// router of https://github.com/scionproto/scion, v0.14.0.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

#include "reasons.p4"
#include "headers.p4"
#include "features.p4"
#include "parser.p4"
#include "checksum.p4"
#include "links.p4"
#include "bfd.p4"
#include "mac.p4"
#include "epic.p4"
#include "path.p4"
#include "one_hop.p4"
#include "delivery.p4"
#include "underlay.p4"
#include "counters.p4"

control VerifyUnderlay(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
                        { hdr.ipv4.version_ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id, hdr.ipv4.fragment,
                          hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

// Lengths of frame, IP, UDP, SCION header and its extensions against each other. Bytes behind the IP packet are padding.
control CheckLengths(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    bit<32> ip_header = 0;
    bit<32> ip_total = 0;
    bit<32> before_ip = 14;
    bit<32> scion_words = 0;

    apply {
        scion_words = (bit<32>) hdr.scion.hdr_len;
        if (hdr.hop_by_hop.isValid()) {
            scion_words = scion_words + (bit<32>) hdr.hop_by_hop.len + 1;
        }
        if (hdr.end_to_end.isValid()) {
            scion_words = scion_words + (bit<32>) hdr.end_to_end.len + 1;
        }
        if (hdr.ipv4.isValid()) {
            ip_header = 20;
            ip_total = (bit<32>) hdr.ipv4.total_len;
        } else {
            ip_header = 40;
            ip_total = (bit<32>) hdr.ipv6.payload_len + 40;
        }
        if (hdr.packet_out.isValid()) {
            before_ip = 14 + PACKET_OUT_BYTES;
        }
        if (std.parser_error != error.NoError
            || before_ip + ip_total > std.packet_length
            || ip_header + (bit<32>) hdr.udp.length > ip_total
            || (bit<32>) UDP_BYTES + (scion_words << 2) > (bit<32>) hdr.udp.length) {
            meta.reason = Reason.MALFORMED;
        }
    }
}

// All the checks, and where the packet goes. Afterwards meta.reason says whether it does.
control Decide(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    ComputeMacs() compute_macs;
    CheckLengths() check_lengths;
    CheckIngressHop() check_ingress_hop;
    CheckBfd() check_bfd;
#ifndef NO_ONE_HOP
    CheckOneHop() check_one_hop;
#endif
    CheckMacs() check_macs;
    CheckEgressHop() check_egress_hop;
    Deliver() deliver;

    apply {
        compute_macs.apply(hdr, meta);
        check_lengths.apply(hdr, meta, std);
        if (meta.reason != Reason.NONE) {
            return;
        }

        if (hdr.path.isValid()) {
            check_ingress_hop.apply(hdr, meta);
        } else if (meta.bfd == 1) {
            check_bfd.apply(meta, std);
#ifndef NO_ONE_HOP
        } else if (hdr.scion.path_type == PATH_ONE_HOP) {
            check_one_hop.apply(hdr, meta);
#endif
        } else if (is_left_out(hdr.scion.path_type)) {
            meta.reason = Reason.FEATURE_LEFT_OUT;
        } else {
            meta.reason = Reason.UNSUPPORTED_PATH_TYPE;
        }
        if (meta.reason != Reason.NONE) {
            return;
        }

        check_macs.apply(hdr, meta);
        if (meta.reason != Reason.NONE) {
            return;
        }

        if (hdr.scion.dst_ia == meta.router.ia) {
            deliver.apply(hdr, meta);
            if (hdr.scion.path_type == PATH_ONE_HOP
                && (meta.reason == Reason.NO_SERVICE || meta.reason == Reason.INVALID_DESTINATION_HOST)) {
                meta.reason = Reason.ONE_HOP_UNDELIVERABLE;
            }
        } else {
            check_egress_hop.apply(hdr, meta);
        }
        if (meta.reason == Reason.NONE && meta.target.over_ipv6 == 1 && hdr.udp.checksum == 0) {
            meta.reason = Reason.NO_UDP_CHECKSUM;
        }
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    FindSource() find_source;
    Decide() decide;
    AdvancePath() advance_path;
#ifndef NO_ONE_HOP
    AdvanceOneHop() advance_one_hop;
#endif
    WriteUnderlay() write_underlay;
#ifndef NO_EPIC
    CheckEpic() check_epic;
#endif
    CountReceived() count_received;
    CountForwarded() count_forwarded;
    CountRefused() count_refused;

    // By Reason; NONE counts the forwarded packets.
    counter(REASON_COUNT, CounterType.packets) reasons;

    bit<16> ingress_port = 0;

    apply {
        ingress_port = (bit<16>) std.ingress_port;
        if (hdr.packet_out.isValid() && hdr.packet_out.port != PROCESS && hdr.packet_out.port != RECEIVED) {
            std.egress_spec = (bit<9>) hdr.packet_out.port;
            hdr.packet_out.setInvalid();
            return;
        }
        if (hdr.packet_out.isValid()) {
            ingress_port = hdr.packet_out.ingress_port;
        }

        find_source.apply(hdr, meta, std);
        if (meta.source.arrival != 0 && meta.source.arrival != ingress_port && ingress_port != LOCAL_PORT
            && meta.reason == Reason.NONE) {
            meta.reason = Reason.WRONG_DEVICE;
        }
        if (meta.reason == Reason.NONE) {
            count_received.apply(hdr, meta);
            decide.apply(hdr, meta, std);
            if (meta.reason != Reason.NONE) {
                count_refused.apply(meta);
            }
        }

        hdr.packet_out.setInvalid();
        if (meta.reason == Reason.NONE) {
            if (hdr.path.isValid()) {
                advance_path.apply(hdr, meta);
#ifndef NO_ONE_HOP
            } else {
                advance_one_hop.apply(hdr, meta);
#endif
            }
            write_underlay.apply(hdr, meta, std);
#ifndef NO_EPIC
            if (hdr.epic.isValid()) {
                // Last, because here it costs the other packets nothing. What it finds wrong is dropped: that the
                // packet is no longer as it came does not matter.
                check_epic.apply(hdr, meta);
                if (meta.reason != Reason.NONE) {
                    mark_to_drop(std);
                    reasons.count((bit<32>) (bit<8>) meta.reason);
                    count_refused.apply(meta);
                    return;
                }
            }
#endif
            count_forwarded.apply(hdr, meta);
        } else if ((bit<8>) meta.reason < PUNT_FIRST) {
            mark_to_drop(std);
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.reason = (bit<8>) meta.reason;
            hdr.packet_in.at_next_hop = (bit<8>) meta.at_next_hop;
            hdr.packet_in.port = ingress_port;
            hdr.packet_in.ingress = meta.source.interface;
            hdr.packet_in.egress = meta.target.interface;
            if (meta.reason == Reason.NEXT_HOP_UNRESOLVED && meta.target.scope == LinkScope.INTERNAL) {
                hdr.packet_in.next_hop = meta.target.over_ipv6 == 1 ? meta.target.dst6
                                                                    : 96w0xffff ++ meta.target.dst4;
            }
            std.egress_spec = meta.reason == Reason.BFD ? URGENT_CPU_PORT : CPU_PORT;
        }
        reasons.count((bit<32>) (bit<8>) meta.reason);
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

// The IPv4 header checksum is written where the header is.
control ComputeChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control BorderRouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(BorderRouterParser(), VerifyUnderlay(), RouterIngress(), RouterEgress(), ComputeChecksums(),
         BorderRouterDeparser()) main;
