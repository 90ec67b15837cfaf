// The router's links: where a packet comes from, and what the agent knows about the ways out.

// Who sent the packet: another AS, another router of this AS, or a host of this AS.
//
// As with sockets, what counts is addresses and ports: each external link and each sibling router has a pair of
// them; whatever else comes to the internal address comes from a host. With an arrival other than 0 nobody may send
// to an address by another device than the one that has it: a neighbour could speak for others, or for hosts of this AS.
control FindSource(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    bit<1> to_internal = 0;

    // The router itself. clock_offset + ingress_global_timestamp is the time in microseconds since 1970.
    action router_ipv4(bit<64> ia, bit<64> clock_offset, bit<32> address, bit<16> port, bit<16> arrival) {
        meta.router.ia = ia;
        meta.router.now = clock_offset + (bit<64>) std.ingress_global_timestamp;
        meta.router.over_ipv6 = 0;
        meta.router.addr4 = address;
        meta.router.port = port;
        meta.source.arrival = arrival;
    }

#ifdef NO_IPV6
    action router_ipv6(bit<64> ia, bit<64> clock_offset, bit<16> port, bit<16> arrival) {
#else
    action router_ipv6(bit<64> ia, bit<64> clock_offset, bit<128> address, bit<16> port, bit<16> arrival) {
        meta.router.addr6 = address;
#endif
        meta.router.ia = ia;
        meta.router.now = clock_offset + (bit<64>) std.ingress_global_timestamp;
        meta.router.over_ipv6 = 1;
        meta.router.port = port;
        meta.source.arrival = arrival;
    }

    action not_configured() {
        meta.reason = Reason.NOT_CONFIGURED;
    }

    table router {
        actions = { router_ipv4; router_ipv6; @defaultonly not_configured; }
        default_action = not_configured();
    }

    action external(bit<16> interface, LinkType relation, bit<12> index, bit<16> arrival) {
        meta.source.scope = LinkScope.EXTERNAL;
        meta.source.relation = relation;
        meta.source.interface = interface;
        meta.source.index = index;
        meta.source.arrival = arrival;
    }

    action sibling(bit<16> sibling, bit<12> index) {
        meta.source.scope = LinkScope.SIBLING;
        meta.source.sibling = sibling;
        meta.source.index = index;
    }

    table links_ipv4 {
        key = {
            hdr.ipv4.src: exact @name("src");
            hdr.ipv4.dst: exact @name("dst");
            hdr.udp.src_port: exact @name("src_port");
            hdr.udp.dst_port: exact @name("dst_port");
        }
        actions = { external; sibling; @defaultonly NoAction; }
        default_action = NoAction();
        size = LINK_COUNT;
    }

#ifndef NO_IPV6
    table links_ipv6 {
        key = {
            hdr.ipv6.src: exact @name("src");
            hdr.ipv6.dst: exact @name("dst");
            hdr.udp.src_port: exact @name("src_port");
            hdr.udp.dst_port: exact @name("dst_port");
        }
        actions = { external; sibling; @defaultonly NoAction; }
        default_action = NoAction();
        size = LINK_COUNT;
    }
#endif

    apply {
        router.apply();
        if (meta.reason != Reason.NONE) {
            return;
        }
        if (!hdr.udp.isValid()) {
            // Cut off, for another protocol, or one that the parser does not go into.
            if (std.parser_error != error.NoError) {
                meta.reason = Reason.MALFORMED;
            } else if (hdr.ipv4.isValid() && hdr.ipv4.protocol == PROTO_UDP) {
                meta.reason = Reason.IP_OPTIONS;
#ifdef NO_IPV6
            } else if (hdr.ethernet.ether_type == ETHERTYPE_IPV6) {
                meta.reason = Reason.FEATURE_LEFT_OUT;
#endif
            } else {
                meta.reason = Reason.NOT_FOR_US;
            }
            return;
        }
        if (hdr.ipv4.isValid()) {
            if (std.checksum_error == 1) {
                meta.reason = Reason.BAD_IP_CHECKSUM;
                return;
            }
            if (links_ipv4.apply().hit) {
                return;
            }
            to_internal = (bit<1>) (meta.router.over_ipv6 == 0 && hdr.ipv4.dst == meta.router.addr4
                                    && hdr.udp.dst_port == meta.router.port);
#ifndef NO_IPV6
        } else {
            if (hdr.udp.checksum == 0) {
                meta.reason = Reason.BAD_IP_CHECKSUM;
                return;
            }
            if (links_ipv6.apply().hit) {
                return;
            }
            to_internal = (bit<1>) (meta.router.over_ipv6 == 1 && hdr.ipv6.dst == meta.router.addr6
                                    && hdr.udp.dst_port == meta.router.port);
#endif
        }
        if (to_internal == 0) {
            meta.reason = Reason.NOT_FOR_US;
        }
    }
}

// The SCION interfaces of this AS: those of this router, and those of its siblings with the way to them. Addresses and
// ports are in the order of the packet's, so that they can be copied there.
control FindInterface(in bit<16> interface, inout metadata_t meta) {
    action over_ipv4(LinkScope scope, LinkType relation, LinkState status, bit<16> udp_limit, bit<12> index,
                     bit<9> port, bit<48> dst_mac, bit<48> src_mac,
                     bit<32> src, bit<32> dst, bit<16> src_port, bit<16> dst_port) {
        meta.target.scope = scope;
        meta.target.relation = relation;
        meta.target.status = status;
        meta.target.udp_limit = udp_limit;
        meta.target.index = index;
        meta.target.port = port;
        meta.target.dst_mac = dst_mac;
        meta.target.src_mac = src_mac;
        meta.target.over_ipv6 = 0;
        meta.target.dst4 = dst;
        meta.target.src4 = src;
        meta.target.dst_port = dst_port;
        meta.target.src_port = src_port;
    }

#ifdef NO_IPV6
    action over_ipv6() {
        meta.reason = Reason.FEATURE_LEFT_OUT;
    }
#else
    action over_ipv6(LinkScope scope, LinkType relation, LinkState status, bit<16> udp_limit, bit<12> index,
                     bit<9> port, bit<48> dst_mac, bit<48> src_mac,
                     bit<128> src, bit<128> dst, bit<16> src_port, bit<16> dst_port) {
        meta.target.scope = scope;
        meta.target.relation = relation;
        meta.target.status = status;
        meta.target.udp_limit = udp_limit;
        meta.target.index = index;
        meta.target.port = port;
        meta.target.dst_mac = dst_mac;
        meta.target.src_mac = src_mac;
        meta.target.over_ipv6 = 1;
        meta.target.dst6 = dst;
        meta.target.src6 = src;
        meta.target.dst_port = dst_port;
        meta.target.src_port = src_port;
    }
#endif

    action unknown() {
        meta.reason = Reason.UNKNOWN_EGRESS;
    }

    table interfaces {
        key = { interface: exact @name("interface"); }
        actions = { over_ipv4; over_ipv6; @defaultonly unknown; }
        default_action = unknown();
        size = INTERFACE_COUNT;
    }

    apply {
        meta.target.interface = interface;
        interfaces.apply();
    }
}
