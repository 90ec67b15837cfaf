// Where an IPv4 packet goes (RFC 1812). With WITHOUT_POLICY, by its destination alone.

control VerifyIpv4(inout headers_t hdr, inout meta_t meta) {
    apply {
#ifndef WITHOUT_IPV4
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id,
                          hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.offset,
                          hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
#endif
    }
}

control RouteIpv4(in headers_t hdr, inout meta_t meta, in standard_metadata_t std) {
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

    // All routes, those to the router's own addresses and to neighbours included. Networks on a link are punted: their
    // neighbours are host routes.
    table routes_ipv4 {
        key = { hdr.ipv4.dst: lpm; }
        actions = { via; multipath; end; }
        default_action = end((bit<8>) Reason.NO_ROUTE);
        // Destinations that Linux does not forward, whatever its routes are. The longer prefixes of routes win.
        entries = {
            0x00000000 &&& 0xffffffff: end((bit<8>) Reason.BROADCAST);
            0x7f000000 &&& 0xff000000: end((bit<8>) Reason.MARTIAN_DESTINATION);
            0xe0000000 &&& 0xf0000000: end((bit<8>) Reason.MULTICAST);
            0xffffffff &&& 0xffffffff: end((bit<8>) Reason.BROADCAST);
        }
        size = 1048576;
    }

    action accept_source() { }

    // Sources that Linux does not forward. Its own addresses are for the agent to add.
    table martians_ipv4 {
        key = { hdr.ipv4.src: lpm; }
        actions = { end; accept_source; }
        default_action = accept_source();
        entries = {
            0x00000000 &&& 0xffffffff: end((bit<8>) Reason.MARTIAN_SOURCE);
            0x7f000000 &&& 0xff000000: end((bit<8>) Reason.MARTIAN_SOURCE);
            0xe0000000 &&& 0xf0000000: end((bit<8>) Reason.MARTIAN_SOURCE);
            0xffffffff &&& 0xffffffff: end((bit<8>) Reason.MARTIAN_SOURCE);
        }
        size = 16384;
    }

#ifndef WITHOUT_POLICY
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

    // Which packets are not routed by `routes_ipv4` alone: rules, and the routes of the tables that they name. The highest priority is that
    // of the rule that comes first, and among its routes of the longest prefix.
    table rules_ipv4 {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            meta.interface: ternary;
            hdr.ipv4.tos: ternary;
            hdr.ipv4.protocol: ternary;
        }
        actions = { rule_via; rule_multipath; end; use_routes; }
        default_action = use_routes();
        size = 1024;
    }

    // The routes of VRFs, with their own addresses. What they do not have, the other routes may.
    table vrf_routes_ipv4 {
        key = {
            meta.vrf: exact;
            hdr.ipv4.dst: lpm;
        }
        actions = { rule_via; rule_multipath; end; use_routes; }
        default_action = use_routes();
        size = 1048576;
    }

    action reached_by(interface_t interface) {
        meta.source_known = 1;
        meta.source_interface = interface;
    }

    action nowhere() { }

    // Where routes to sources lead, while a port has sources checked.
    table sources_ipv4 {
        key = { hdr.ipv4.src: lpm; }
        actions = { reached_by; nowhere; }
        default_action = nowhere();
        size = 1048576;
    }
#endif

#ifdef PATH_SPLICING
    RouteSpliced() route_spliced;
#endif

    apply {
        meta.length = (bit<32>) hdr.ipv4.length;
        if (hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5 || meta.length < (bit<32>) hdr.ipv4.ihl << 2
            || ETHERNET_BYTES + meta.length > std.packet_length) {
            meta.reason = Reason.MALFORMED;
        } else if (hdr.ipv4.ihl > 5) {
            meta.reason = Reason.OPTIONS;
        } else if (std.checksum_error == 1) {
            meta.reason = Reason.BAD_CHECKSUM;
        } else {
            routes_ipv4.apply();
#ifdef PATH_SPLICING
            route_spliced.apply(hdr, meta);
#endif
#ifndef WITHOUT_POLICY
            if (meta.vrf != 0 && (meta.reason == Reason.FORWARDED || meta.reason == Reason.BLACKHOLE
                                  || meta.reason == Reason.NO_ROUTE || meta.reason == Reason.UNRESOLVED
                                  || meta.reason == Reason.KERNEL_ROUTE || meta.vrf_first == 1 && meta.reason == Reason.LOCAL)) {
                vrf_routes_ipv4.apply();
            }
            // Rules come before the main table, and behind the local one.
            if (meta.reason == Reason.FORWARDED || meta.reason == Reason.BLACKHOLE || meta.reason == Reason.NO_ROUTE
                || meta.reason == Reason.UNRESOLVED || meta.reason == Reason.KERNEL_ROUTE) {
                rules_ipv4.apply();
            }
#endif
            if (meta.reason == Reason.FORWARDED) {
                martians_ipv4.apply();
            }
#ifndef WITHOUT_POLICY
            if (meta.check_source != SOURCE_UNCHECKED && (meta.reason == Reason.FORWARDED || meta.reason == Reason.BLACKHOLE)) {
                sources_ipv4.apply();
                if (meta.source_known == 0 || meta.check_source == SOURCE_STRICT && meta.source_interface != meta.interface) {
                    meta.reason = Reason.POLICY;
                }
            }
#endif
            if (meta.reason == Reason.FORWARDED && hdr.ipv4.ttl <= 1) {
                meta.reason = Reason.HOP_LIMIT;
            }
            if (meta.group != 0) {
                bit<16> src_port = 0;
                bit<16> dst_port = 0;
                if (hdr.ports.isValid()) {
                    src_port = hdr.ports.src;
                    dst_port = hdr.ports.dst;
                }
                hash(meta.flow, HashAlgorithm.crc32, 16w0,
                     { meta.hash_seed, hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, src_port, dst_port }, 32w0x10000);
            }
        }
    }
}

control AgeIpv4(inout headers_t hdr) {
    apply {
        bit<16> before = hdr.ipv4.ttl ++ hdr.ipv4.protocol;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        adjust_checksum(hdr.ipv4.checksum, before, hdr.ipv4.ttl ++ hdr.ipv4.protocol);
    }
}
