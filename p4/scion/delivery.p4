// Delivery inside the AS: the host, or the instance of a service, and how to reach it.

control Deliver(in headers_t hdr, inout metadata_t meta) {
#ifdef TOFINO
    Hash<bit<6>>(HashAlgorithm_t.CRC16) bucket_of;
#endif
    bit<6> bucket = 0;
    bit<16> service = 0;

    action instance_ipv4(bit<32> address, bit<16> port) {
        meta.target.over_ipv6 = 0;
        meta.target.dst4 = address;
        meta.target.dst_port = port;
    }

#ifdef NO_IPV6
    action instance_ipv6() {
        meta.reason = Reason.FEATURE_LEFT_OUT;
    }
#else
    action instance_ipv6(bit<128> address, bit<16> port) {
        meta.target.over_ipv6 = 1;
        meta.target.dst6 = address;
        meta.target.dst_port = port;
    }
#endif

    action no_instance() {
        meta.reason = Reason.NO_SERVICE;
    }

    // The agent spreads a service's instances over the buckets.
    table services {
        key = {
            service: exact @name("service");
            bucket: exact @name("bucket");
        }
        actions = { instance_ipv4; instance_ipv6; @defaultonly no_instance; }
        default_action = no_instance();
        size = SERVICE_BUCKETS;
    }

#ifndef TOFINO
    // Hosts take packets to these ports by themselves, the others at the port of their dispatcher.
    bit<16> first_port = 0;
    bit<16> last_port = 0xffff;

    action host_ports(bit<16> first, bit<16> last) {
        first_port = first;
        last_port = last;
    }

    // As in the reference, all ports unless the agent says otherwise.
    table dispatched_ports {
        actions = { NoAction; host_ports; }
        default_action = NoAction();
    }
#endif

    action next_hop(bit<9> port, bit<48> dst_mac, bit<48> src_mac, bit<12> index) {
        meta.target.port = port;
        meta.target.dst_mac = dst_mac;
        meta.target.src_mac = src_mac;
        meta.target.index = index;
    }

    action unresolved() {
        meta.reason = Reason.NEXT_HOP_UNRESOLVED;
    }

    // The next hop towards a host: itself, or the AS's own router in between. Learned as hosts are needed.
    table hosts_ipv4 {
        key = { meta.target.dst4: exact @name("address"); }
        actions = { next_hop; @defaultonly unresolved; }
        default_action = unresolved();
        size = HOST_COUNT_IPV4;
    }

#ifndef NO_IPV6
    table hosts_ipv6 {
        key = { meta.target.dst6: exact @name("address"); }
        actions = { next_hop; @defaultonly unresolved; }
        default_action = unresolved();
        size = HOST_COUNT_IPV6;
    }
#endif

    apply {
        meta.target.scope = LinkScope.INTERNAL;
        bit<4> host = hdr.scion.dst_type ++ hdr.scion.dst_len;
        if (host == HOST_SERVICE) {
            // Service number, without the bit that asks for all instances; one is what everybody gets. The
            // same sender keeps the same instance for a flow.
            service = hdr.dst4.addr[31:16] & 0x7fff;
#ifdef TOFINO
            bucket = bucket_of.get({ hdr.scion.version_class_flow, hdr.scion.src_ia });
#else
            hash(bucket, HashAlgorithm.crc16, 6w0, { hdr.scion.version_class_flow, hdr.scion.src_ia }, 7w64);
#endif
            services.apply();
            if (meta.reason != Reason.NONE) {
                return;
            }
        } else {
            if (host == HOST_IPV4) {
                meta.target.over_ipv6 = 0;
                meta.target.dst4 = hdr.dst4.addr;
                if (hdr.dst4.addr == 0) {
                    meta.reason = Reason.INVALID_DESTINATION_HOST;
                    return;
                }
            } else if (host == HOST_IPV6) {
#ifdef NO_IPV6
                meta.reason = Reason.FEATURE_LEFT_OUT;
                return;
#else
                meta.target.over_ipv6 = 1;
                meta.target.dst6 = hdr.dst16.addr;
                if (hdr.dst16.addr == 0 || hdr.dst16.addr[127:32] == 0xffff) {
                    meta.reason = Reason.INVALID_DESTINATION_HOST;
                    return;
                }
#endif
            } else {
                meta.reason = Reason.INVALID_DESTINATION_HOST;
                return;
            }
            if (meta.l4 == L4.SCMP_ERROR && hdr.packet_out.isValid() && hdr.packet_out.l4_port != 0) {
                // The agent has looked into the quoted packet.
                meta.l4_port = hdr.packet_out.l4_port;
            } else if (meta.l4 != L4.PORT) {
                meta.reason = meta.l4 == L4.SCMP_ERROR ? Reason.SCMP_ERROR : Reason.UNKNOWN_L4;
                return;
            }
            meta.target.dst_port = meta.l4_port;
#ifndef TOFINO
            dispatched_ports.apply();
            if (meta.l4_port < first_port || meta.l4_port > last_port) {
                meta.target.dst_port = END_HOST_PORT;
            }
#endif
        }
        if (meta.target.dst_port == meta.router.port
            && (meta.target.over_ipv6 == 0 ? meta.target.dst4 == meta.router.addr4
                                           : meta.target.dst6 == meta.router.addr6)) {
            meta.reason = Reason.OWN_PORT;
            return;
        }
        if (meta.target.over_ipv6 != meta.router.over_ipv6) {
            meta.reason = Reason.UNDERLAY_MISMATCH;
            return;
        }
        meta.target.src_port = meta.router.port;
        if (meta.target.over_ipv6 == 0) {
            meta.target.src4 = meta.router.addr4;
            hosts_ipv4.apply();
#ifndef NO_IPV6
        } else {
            meta.target.src6 = meta.router.addr6;
            hosts_ipv6.apply();
#endif
        }
    }
}
