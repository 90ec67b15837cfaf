// Where an IPv6 packet goes (RFC 8200).

control RouteIpv6(in headers_t hdr, inout meta_t meta, in standard_metadata_t std) {
    action via(bit<16> next_hop, bit<32> route) {
        meta.next_hop = next_hop;
        meta.route = route;
    }

    action multipath(bit<16> group, bit<32> route) {
        meta.group = group;
        meta.route = route;
    }

    // Drops or punts.
    action end(bit<8> reason) {
        meta.reason = (Reason) reason;
    }

    // As routes_ipv4.
    table routes_ipv6 {
        key = { hdr.ipv6.dst: lpm; }
        actions = { via; multipath; end; }
        default_action = end((bit<8>) Reason.NO_ROUTE);
        entries = {
            // Unspecified, loopback (RFC 4291, sections 2.5.2 and 2.5.3).
            128w0 &&& 0xffffffff_ffffffff_ffffffff_ffffffff: end((bit<8>) Reason.LINK_LOCAL);
            128w1 &&& 0xffffffff_ffffffff_ffffffff_ffffffff: end((bit<8>) Reason.MARTIAN_DESTINATION);
            // Link-local, multicast.
            128w0xfe80 << 112 &&& 128w0xffc0 << 112: end((bit<8>) Reason.LINK_LOCAL);
            128w0xff << 120 &&& 128w0xff << 120: end((bit<8>) Reason.MULTICAST);
        }
        size = 1048576;
    }

    action accept_source() { }

    // Sources that Linux does not forward. Packets from link-local addresses are punted: their sender is told that the destination is beyond their scope
    // (RFC 4443, section 3.1).
    table martians_ipv6 {
        key = { hdr.ipv6.src: lpm; }
        actions = { end; accept_source; }
        default_action = accept_source();
        entries = {
            128w0 &&& 0xffffffff_ffffffff_ffffffff_ffffffff: end((bit<8>) Reason.MARTIAN_SOURCE);
            128w1 &&& 0xffffffff_ffffffff_ffffffff_ffffffff: end((bit<8>) Reason.MARTIAN_SOURCE);
            128w0xfe80 << 112 &&& 128w0xffc0 << 112: end((bit<8>) Reason.LINK_LOCAL);
            128w0xff << 120 &&& 128w0xff << 120: end((bit<8>) Reason.MARTIAN_SOURCE);
        }
        size = 1024;
    }

    action use_routes() { }

    // By a route of another table than the main one.
    action rule_via(bit<16> next_hop, bit<32> route) {
        meta.reason = Reason.FORWARDED;
        meta.group = 0;
        via(next_hop, route);
    }

    action rule_multipath(bit<16> group, bit<32> route) {
        meta.reason = Reason.FORWARDED;
        meta.next_hop = 0;
        multipath(group, route);
    }

    // As rules_ipv4. The protocol is behind extension headers.
    table rules_ipv6 {
        key = {
            hdr.ipv6.src: ternary;
            hdr.ipv6.dst: ternary;
            meta.interface: ternary;
            hdr.ipv6.traffic_class: ternary;
        }
        actions = { rule_via; rule_multipath; end; use_routes; }
        default_action = use_routes();
        size = 1024;
    }

    // As vrf_routes_ipv4.
    table vrf_routes_ipv6 {
        key = {
            meta.vrf: exact;
            hdr.ipv6.dst: lpm;
        }
        actions = { rule_via; rule_multipath; end; use_routes; }
        default_action = use_routes();
        size = 1048576;
    }

    apply {
        meta.length = IPV6_BYTES + (bit<32>) hdr.ipv6.payload_length;
        if (hdr.ipv6.version != 6 || ETHERNET_BYTES + meta.length > std.packet_length) {
            meta.reason = Reason.MALFORMED;
        } else if (hdr.ipv6.next_header == PROTOCOL_HOP_BY_HOP) {
            meta.reason = Reason.HOP_BY_HOP;
        } else {
            routes_ipv6.apply();
            if (meta.vrf != 0 && (meta.reason == Reason.FORWARDED || meta.reason == Reason.BLACKHOLE
                                  || meta.reason == Reason.NO_ROUTE || meta.reason == Reason.UNRESOLVED
                                  || meta.reason == Reason.KERNEL_ROUTE || meta.vrf_first == 1 && meta.reason == Reason.LOCAL)) {
                vrf_routes_ipv6.apply();
            }
            if (meta.reason == Reason.FORWARDED || meta.reason == Reason.BLACKHOLE || meta.reason == Reason.NO_ROUTE
                || meta.reason == Reason.UNRESOLVED || meta.reason == Reason.KERNEL_ROUTE) {
                rules_ipv6.apply();
            }
            if (meta.reason == Reason.FORWARDED) {
                martians_ipv6.apply();
            }
            if (meta.reason == Reason.FORWARDED && hdr.ipv6.hop_limit <= 1) {
                meta.reason = Reason.HOP_LIMIT;
            }
            if (meta.group != 0) {
                // With a flow label the ports are not needed (RFC 6438), and do no harm.
                bit<16> src_port = 0;
                bit<16> dst_port = 0;
                if (hdr.ports.isValid()) {
                    src_port = hdr.ports.src;
                    dst_port = hdr.ports.dst;
                }
                hash(meta.flow, HashAlgorithm.crc32, 16w0,
                     { meta.hash_seed, hdr.ipv6.src, hdr.ipv6.dst, 4w0 ++ hdr.ipv6.flow_label, hdr.ipv6.next_header,
                       src_port, dst_port }, 32w0x10000);
            }
        }
    }
}
