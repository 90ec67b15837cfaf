// The border router's ingress: all checks, where a packet goes, and what is written last.

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
#ifndef NO_IPV6
        } else {
            ip_header = 40;
            ip_total = (bit<32>) hdr.ipv6.payload_len + 40;
#endif
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

// A packet that is not forwarded may be no SCION packet at all, but a STUN binding request (RFC 5389, 6) from a host that
// wants to know the address that the router sees. Its type, and the magic cookie at the place of NextHdr, HdrLen and
// PayloadLen, tell. No packet that is forwarded looks so: there is no protocol 0x21, nor are packets that long.
control CheckStun(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.scion.isValid() && meta.source.scope == LinkScope.INTERNAL && hdr.scion.next_hdr == 0x21
            && hdr.scion.hdr_len == 0x12 && hdr.scion.payload_len == 0xa442
            && hdr.scion.version_class_flow[31:16] == 0x0001) {
            meta.reason = Reason.STUN;
        }
    }
}

// All the checks, and where the packet goes. Afterwards meta.reason says whether it does.
control Decide(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
#if !AES_PIPES
    ComputeMacs() compute_macs;
#endif
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
#if !AES_PIPES
        compute_macs.apply(hdr, meta);
#endif
        check_lengths.apply(hdr, meta, std);
        if (meta.reason != Reason.NONE) {
            return;
        }

        if (HAS_PATH(hdr)) {
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
#ifdef TOFINO
    Authenticate() authenticate;
#endif
    Decide() decide;
    AdvancePath() advance_path;
#ifndef NO_ONE_HOP
    AdvanceOneHop() advance_one_hop;
#endif
    WriteUnderlay() write_underlay;
#ifndef NO_EPIC
    CheckEpic() check_epic;
#endif
#ifdef HUMMINGBIRD
    TakeOutFlyover() take_out_flyover;
    PoliceFlyover() police_flyover;
    AdvanceHummingbird() advance_hummingbird;
#endif
    CountReceived() count_received;
    CountForwarded() count_forwarded;
    CountRefused() count_refused;
    CheckStun() check_stun;

    // By Reason; NONE counts the forwarded packets.
    PACKET_COUNTER(REASON_COUNT) reasons;

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
#ifdef TOFINO
        if (meta.reason == Reason.NONE) {
            authenticate.apply(hdr, meta, std);
            if (hdr.bridge.isValid()) {
                return;
            }
        }
        hdr.bridge.setInvalid();
#endif
        if (meta.reason == Reason.NONE) {
#ifdef HUMMINGBIRD
            if (hdr.flyover.isValid()) {
                take_out_flyover.apply(hdr, meta);
            }
#endif
            decide.apply(hdr, meta, std);
            // What is left out is counted where it is processed.
            if (meta.reason != Reason.FEATURE_LEFT_OUT) {
                count_received.apply(hdr, meta);
            }
            if (meta.reason != Reason.NONE) {
                check_stun.apply(hdr, meta);
                count_refused.apply(meta);
            }
        }

        hdr.packet_out.setInvalid();
        if (meta.reason == Reason.NONE) {
            if (hdr.path.isValid()) {
                advance_path.apply(hdr, meta);
#ifdef HUMMINGBIRD
            } else if (hdr.hummingbird.isValid()) {
                police_flyover.apply(hdr, meta, std);
                advance_hummingbird.apply(hdr, meta);
#endif
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
#ifdef HUMMINGBIRD
            if (hdr.flyover.isValid()) {
                hdr.hop.mac = hdr.hop.mac ^ meta.flyover_mac;
            }
#endif
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
