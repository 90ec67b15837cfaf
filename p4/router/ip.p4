// The fast path of an IP router, IPv4 and IPv6.
//
//   parser.p4      frame -> headers
//   route_ipv4.p4  header checks, martians, routes (RFC 1812)     route_ipv6.p4  the same (RFC 8200)
//   next_hops.p4   equal-cost groups, neighbours, MTU
//   reasons.p4     what becomes of a packet, and why
//
// A packet is forwarded if all checks pass. It is dropped if it makes no sense and nobody should be told. Everything
// else, ARP, neighbour discovery, packets to the router itself, and packets that somebody must be told about by ICMP, is
// punted unmodified to the CPU port, with the ingress port and the reason: the control plane is a kernel with ports of
// the same names and addresses. All decisions are made before the first change.
//
// The tables say what the control plane knows: `ports` the Ethernet addresses of the router's ports, `routes_ipv4` and
// `routes_ipv6` the routes, host routes for neighbours included, `groups` the groups of equal-cost next hops,
// `next_hops` the neighbours, `rules_ipv4` and `rules_ipv6` which packets other tables route, and `redirects` when senders are told of better ways.
// `vlans` has the VLANs (IEEE 802.1Q) that are interfaces of their own, `vrf_routes_ipv4` and `vrf_routes_ipv6` the routes of VRFs. A packet's precedence is its priority in the
// egress port's queues, if the port has some. The state that packets change is counters only, so that several workers can run the program.
//
// Written for v1model with the incremental checksums of internet_checksum.p4. WITHOUT_IPV4 or WITHOUT_IPV6 leaves one
// protocol out.

#include <core.p4>
#include <v1model.p4>
#include <internet_checksum.p4>

#include "reasons.p4"
#include "headers.p4"
#include "parser.p4"
#ifdef PATH_SPLICING
#include "splicing.p4"
#endif
#include "route_ipv4.p4"
#include "route_ipv6.p4"
#include "next_hops.p4"

// Routes that can have a counter of their own; number 0 is for all others.
#define ROUTE_COUNTERS 65536

// Whether a packet to the router belongs to a protocol that neighbours or routes depend on.
control IsUrgent(in headers_t hdr, in meta_t meta, out bool urgent) {
    bit<8> protocol = 0;
    bit<16> src_port = 0;
    bit<16> dst_port = 0;

    action by_urgent_port() {
        urgent = true;
    }

    action by_common_port() { }

    table control_protocols {
        key = {
            protocol: ternary;
            src_port: ternary;       // of ICMPv6: the type in the upper eight bits
            dst_port: ternary;
        }
        actions = { by_urgent_port; by_common_port; }
        default_action = by_common_port();
        entries = {
            (PROTOCOL_OSPF, _, _): by_urgent_port();
            (PROTOCOL_PIM, _, _): by_urgent_port();
            (PROTOCOL_IGMP, _, _): by_urgent_port();
            (PROTOCOL_VRRP, _, _): by_urgent_port();
            (PROTOCOL_TCP, _, 179): by_urgent_port();          // BGP
            (PROTOCOL_TCP, 179, _): by_urgent_port();
            (PROTOCOL_TCP, _, 646): by_urgent_port();          // LDP
            (PROTOCOL_TCP, 646, _): by_urgent_port();
            (PROTOCOL_UDP, _, 646): by_urgent_port();
            (PROTOCOL_UDP, _, 3784 &&& 0xfffe): by_urgent_port(); // BFD, control and echo
            (PROTOCOL_UDP, _, 4784): by_urgent_port();         // BFD, multihop
            (PROTOCOL_UDP, _, 520 &&& 0xfffe): by_urgent_port();  // RIP, RIPng
            (PROTOCOL_UDP, _, 6696): by_urgent_port();         // Babel
            (PROTOCOL_ICMPV6, 0x8400 &&& 0xfc00, _): by_urgent_port(); // neighbour discovery: 132 to 135
            (PROTOCOL_ICMPV6, 0x8800 &&& 0xfe00, _): by_urgent_port(); // 136, 137
        }
        size = 256;
    }

    apply {
        urgent = false;
        if (hdr.ipv4.isValid()) {
            protocol = hdr.ipv4.protocol;
        } else if (hdr.ipv6.isValid()) {
            protocol = hdr.ipv6.next_header;
        }
        if (hdr.ports.isValid()) {
            src_port = hdr.ports.src;
            dst_port = hdr.ports.dst;
        } else if (hdr.icmp.isValid()) {
            src_port = hdr.icmp.type ++ 8w0;
        }
        if (meta.reason == Reason.ARP) {
            urgent = true;
        } else if (meta.reason == Reason.LOCAL || meta.reason == Reason.MULTICAST || meta.reason == Reason.LINK_LOCAL) {
            control_protocols.apply();
        }
    }
}

control RouterIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
#ifndef WITHOUT_IPV4
    RouteIpv4() ipv4;
    AgeIpv4() age_ipv4;
#endif
#ifdef PATH_SPLICING
    AdvanceSplicing() advance_splicing;
#endif
#ifndef WITHOUT_IPV6
    RouteIpv6() ipv6;
#endif
    NextHops() next_hops;
    IsUrgent() is_urgent;

    // By Reason.
    counter(REASON_COUNT, CounterType.packets_and_bytes) reasons;
    // Forwarded packets by the number that the route's entry has.
    counter(ROUTE_COUNTERS, CounterType.packets_and_bytes) route_packets;

    // The address of the ingress port. The seed makes routers in a row spread flows differently.
    action receive(mac_t mac, bit<32> hash_seed) {
        meta.mac = mac;
        meta.hash_seed = hash_seed;
    }

    // The same, and what of the port's packets the control plane must see.
    action receive_for_kernel(mac_t mac, bit<32> hash_seed, bit<1> kernel_ipv4, bit<1> kernel_ipv6, bit<1> kernel_frames,
                              bit<2> check_source) {
        receive(mac, hash_seed);
        meta.kernel_ipv4 = kernel_ipv4;
        meta.kernel_ipv6 = kernel_ipv6;
        meta.kernel_frames = kernel_frames;
        meta.check_source = check_source;
    }

    // The same for a port that belongs to a VRF.
    action receive_in_vrf(mac_t mac, bit<32> hash_seed, bit<1> kernel_ipv4, bit<1> kernel_ipv6, bit<1> kernel_frames,
                          bit<16> vrf, bit<1> vrf_first) {
        receive_for_kernel(mac, hash_seed, kernel_ipv4, kernel_ipv6, kernel_frames, SOURCE_UNCHECKED);
        meta.vrf = vrf;
        meta.vrf_first = vrf_first;
    }

    action unknown_port() {
        meta.reason = Reason.UNKNOWN_PORT;
    }

    table ports {
        key = { std.ingress_port: exact; }
        actions = { receive; receive_for_kernel; receive_in_vrf; unknown_port; }
        default_action = unknown_port();
        size = 512;
    }

    // What is said of a VLAN instead of its port.
    action receive_tagged(bit<1> kernel_ipv4, bit<1> kernel_ipv6, bit<1> kernel_frames, bit<2> check_source, bit<16> vrf,
                          bit<1> vrf_first) {
        meta.kernel_ipv4 = kernel_ipv4;
        meta.kernel_ipv6 = kernel_ipv6;
        meta.kernel_frames = kernel_frames;
        meta.check_source = check_source;
        meta.vrf = vrf;
        meta.vrf_first = vrf_first;
    }

    // The VLANs that are interfaces. The control plane gets frames of others.
    table vlans {
        key = {
            std.ingress_port: exact;
            hdr.vlan.id: exact;
        }
        actions = { receive_tagged; unknown_port; @defaultonly NoAction; }
        default_action = NoAction();
        size = 16384;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            return;
        }

        ports.apply();
        meta.interface = std.ingress_port ++ 12w0;
        bit<16> type = hdr.ethernet.type;
        bool other_vlan = false;
        if (hdr.vlan.isValid()) {
            meta.interface = std.ingress_port ++ hdr.vlan.id;
            type = hdr.vlan.type;
            if (meta.reason == Reason.FORWARDED) {
                other_vlan = !vlans.apply().hit;
            }
        }
        meta.link_group = hdr.ethernet.dst[40:40];
        if (!hdr.ethernet.isValid()) {
            meta.reason = Reason.MALFORMED;
        } else if (meta.reason == Reason.FORWARDED && meta.link_group == 0 && hdr.ethernet.dst != meta.mac) {
            meta.reason = Reason.OTHER_MAC;
        }
        if (meta.reason == Reason.FORWARDED) {
            if (other_vlan) {
                meta.reason = Reason.LINK_LAYER;
            } else
#ifndef WITHOUT_IPV4
            if (hdr.ipv4.isValid()) {
                ipv4.apply(hdr, meta, std);
            } else
#endif
#ifndef WITHOUT_IPV6
            if (hdr.ipv6.isValid()) {
                ipv6.apply(hdr, meta, std);
            } else
#endif
            if (type == TYPE_ARP) {
                meta.reason = Reason.ARP;
            } else if (type == TYPE_IPV4 || type == TYPE_IPV6) {
                meta.reason = Reason.MALFORMED;
            } else {
                meta.reason = Reason.LINK_LAYER;
            }
            if (hdr.vlan.isValid() && ETHERNET_BYTES + VLAN_BYTES + meta.length > std.packet_length) {
                meta.reason = Reason.MALFORMED;
            }
        }
        if (meta.reason == Reason.FORWARDED) {
            next_hops.apply(meta, std);
        }
        // Also what would be answered by ICMP: a frame for everybody must not cause answers of all routers.
        if (meta.link_group == 1
            && (meta.reason == Reason.FORWARDED || (bit<8>) meta.reason >= (bit<8>) Reason.NO_ROUTE)) {
            meta.reason = Reason.LINK_GROUP;
        }
        // Nothing is forwarded or dropped here that the kernel may treat otherwise.
        if ((bit<8>) meta.reason < FIRST_PUNTED
            && (meta.kernel_frames == 1
                || meta.reason != Reason.OTHER_MAC
                   && (meta.kernel_ipv4 == 1 && hdr.ipv4.isValid() || meta.kernel_ipv6 == 1 && hdr.ipv6.isValid()))) {
            meta.reason = Reason.POLICY;
        }

        if (meta.reason == Reason.FORWARDED) {
#ifndef WITHOUT_IPV4
            if (hdr.ipv4.isValid()) {
                age_ipv4.apply(hdr);
                std.priority = hdr.ipv4.tos[7:5];
#ifdef PATH_SPLICING
                advance_splicing.apply(hdr, meta);
#endif
            }
#endif
#ifndef WITHOUT_IPV6
            if (hdr.ipv6.isValid()) {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                std.priority = hdr.ipv6.traffic_class[7:5];
            }
#endif
            if (hdr.vlan.isValid() || meta.egress_vlan != 0) {
                if (meta.egress_vlan == 0) {
                    hdr.vlan.setInvalid();
                    hdr.ethernet.type = type;
                } else {
                    hdr.vlan.setValid();
                    hdr.vlan.priority = 0;
                    hdr.vlan.drop_eligible = 0;
                    hdr.vlan.id = meta.egress_vlan;
                    hdr.vlan.type = type;
                    hdr.ethernet.type = TYPE_VLAN;
                }
            }
            hdr.ethernet.src = meta.src;
            hdr.ethernet.dst = meta.dst;
            std.egress_spec = meta.egress_port;
            route_packets.count(meta.route);
        } else if ((bit<8>) meta.reason < FIRST_PUNTED) {
            mark_to_drop(std);
        } else {
            bool urgent;
            is_urgent.apply(hdr, meta, urgent);
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) std.ingress_port;
            hdr.packet_in.reason = (bit<8>) meta.reason;
            std.egress_spec = urgent ? URGENT_CPU_PORT : CPU_PORT;
        }
        reasons.count((bit<32>) (bit<8>) meta.reason);
    }
}

control RouterEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

// Updated where the TTL is.
control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(RouterParser(), VerifyIpv4(), RouterIngress(), RouterEgress(), NoChecksums(), RouterDeparser()) main;
