// From the frame to the current hop field.
//
// The parser checks the shape of the packet, what makes it impossible to go on: lengths, and whether
// CurrINF and CurrHF fit the segments. What the fields say is checked later.

error {
    ScionPathMalformed,      // no segment, a gap between segments, or CurrINF beyond the last
    ScionHopNotInSegment,    // CurrHF is not a hop of segment CurrINF
    ScionTooManyHops,
    ScionHeaderTooShort,     // the path does not fit into HdrLen
    ScionExtensionOrder      // an extension header twice, or hop-by-hop behind end-to-end
}

// Port at which hosts take what has no port of its own.
const bit<16> END_HOST_PORT = 30041;

// SCMP types that say where to deliver.
const bit<8> SCMP_ECHO_REQUEST       = 128;
const bit<8> SCMP_ECHO_REPLY         = 129;
const bit<8> SCMP_TRACEROUTE_REQUEST = 130;
const bit<8> SCMP_TRACEROUTE_REPLY   = 131;

parser BorderRouterParser(packet_in packet,
#ifdef TOFINO
                          inout headers_t hdr,
#else
                          out headers_t hdr,
#endif
                          inout metadata_t meta,
                          inout standard_metadata_t std) {
#ifdef TOFINO
    Checksum() ipv4_checksum;
#endif
    // In hops, counted from the start of the path.
    bit<8> current = 0;
    bit<8> segment_start = 0;
    bit<8> segment_end = 0;
    bit<8> hop_count = 0;
    bit<8> epic_words = 0;
    bit<8> info_words = 0;
    bit<8> next_hdr = 0;

    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_agent;
            default: ethernet;
        }
    }

    state from_agent {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.port) {
            PROCESS: ethernet;
            RECEIVED: ethernet;
            default: accept;
        }
    }

    // ---- Underlay -----------------------------------------------------------------------------------

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
#ifndef NO_IPV6
            ETHERTYPE_IPV6: ipv6;
#endif
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
#ifdef TOFINO
        ipv4_checksum.add(hdr.ipv4);
        std.checksum_error = (bit<1>) ipv4_checksum.verify();
#endif
        transition select(hdr.ipv4.version_ihl, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (0x45, 0 &&& 0x3fff, PROTO_UDP): udp;  // no options, no fragment
            default: accept;
        }
    }

#ifndef NO_IPV6
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.version_class_label[31:28], hdr.ipv6.next_hdr) {
            (6, PROTO_UDP): udp;
            default: accept;
        }
    }
#endif

    state udp {
        packet.extract(hdr.udp);
        transition scion;
    }

    // ---- SCION common header and addresses ----------------------------------------------------------

    state scion {
        packet.extract(hdr.scion);
        transition select(hdr.scion.dst_len) {
            0: dst4;
            1: dst8;
            2: dst12;
            3: dst16;
        }
    }

    state dst4  { packet.extract(hdr.dst4);  transition source; }
    state dst8  { packet.extract(hdr.dst8);  transition source; }
    state dst12 { packet.extract(hdr.dst12); transition source; }
    state dst16 { packet.extract(hdr.dst16); transition source; }

    state source {
        transition select(hdr.scion.src_len) {
            0: src4;
            1: src8;
            2: src12;
            3: src16;
        }
    }

    state src4  { packet.extract(hdr.src4);  transition path; }
    state src8  { packet.extract(hdr.src8);  transition path; }
    state src12 { packet.extract(hdr.src12); transition path; }
    state src16 { packet.extract(hdr.src16); transition path; }

    state path {
        transition select(hdr.scion.path_type) {
            PATH_SCION: scion_path;
#ifndef NO_ONE_HOP
            PATH_ONE_HOP: one_hop_path;
#endif
            PATH_EMPTY: empty_path;
#ifndef NO_EPIC
            PATH_EPIC: epic_path;
#endif
            default: accept;
        }
    }

    // ---- Path types SCION and EPIC-HP ---------------------------------------------------------------

#ifndef NO_EPIC
    // A SCION path with something in front of it.
    state epic_path {
        packet.extract(hdr.epic);
        epic_words = EPIC_WORDS;
        transition scion_path;
    }
#endif

    // The info fields, named by their place relative to the current one.
    state scion_path {
        packet.extract(hdr.path);
        transition select(hdr.path.seg1_len, hdr.path.seg2_len) {
            (0, 0): one_segment;
            (0, _): malformed_path;
            (_, 0): two_segments;
            default: three_segments;
        }
    }

    state one_segment {
        transition select(hdr.path.seg0_len, hdr.path.curr_inf) {
            (0, _): malformed_path;
            (_, 0): segment_1_of_1;
            default: malformed_path;
        }
    }

    state two_segments {
        transition select(hdr.path.seg0_len, hdr.path.curr_inf) {
            (0, _): malformed_path;
            (_, 0): segment_1_of_2;
            (_, 1): segment_2_of_2;
            default: malformed_path;
        }
    }

    state three_segments {
        transition select(hdr.path.seg0_len, hdr.path.curr_inf) {
            (0, _): malformed_path;
            (_, 0): segment_1_of_3;
            (_, 1): segment_2_of_3;
            (_, 2): segment_3_of_3;
            default: malformed_path;
        }
    }

    state malformed_path {
        verify(false, error.ScionPathMalformed);
        transition accept;
    }

    state segment_1_of_1 {
        packet.extract(hdr.info);
        info_words = 2;
        segment_end = (bit<8>) hdr.path.seg0_len;
        hop_count = segment_end;
        transition hop_fields;
    }

    state segment_1_of_2 {
        packet.extract(hdr.info);
        packet.extract(hdr.info_next);
        info_words = 4;
        segment_end = (bit<8>) hdr.path.seg0_len;
        hop_count = segment_end + (bit<8>) hdr.path.seg1_len;
        transition hop_fields;
    }

    state segment_2_of_2 {
        packet.extract(hdr.info_prev);
        packet.extract(hdr.info);
        info_words = 4;
        segment_start = (bit<8>) hdr.path.seg0_len;
        segment_end = segment_start + (bit<8>) hdr.path.seg1_len;
        hop_count = segment_end;
        transition hop_fields;
    }

    state segment_1_of_3 {
        packet.extract(hdr.info);
        packet.extract(hdr.info_next);
        packet.extract(hdr.info_next2);
        info_words = 6;
        segment_end = (bit<8>) hdr.path.seg0_len;
        hop_count = segment_end + (bit<8>) hdr.path.seg1_len + (bit<8>) hdr.path.seg2_len;
        transition hop_fields;
    }

    state segment_2_of_3 {
        packet.extract(hdr.info_prev);
        packet.extract(hdr.info);
        packet.extract(hdr.info_next);
        info_words = 6;
        segment_start = (bit<8>) hdr.path.seg0_len;
        segment_end = segment_start + (bit<8>) hdr.path.seg1_len;
        hop_count = segment_end + (bit<8>) hdr.path.seg2_len;
        transition hop_fields;
    }

    state segment_3_of_3 {
        packet.extract(hdr.info_prev2);
        packet.extract(hdr.info_prev);
        packet.extract(hdr.info);
        info_words = 6;
        segment_start = (bit<8>) hdr.path.seg0_len + (bit<8>) hdr.path.seg1_len;
        segment_end = segment_start + (bit<8>) hdr.path.seg2_len;
        hop_count = segment_end;
        transition hop_fields;
    }

    // The hop fields: all before the current one (and its predecessor in another segment) at once.
    state hop_fields {
        current = (bit<8>) hdr.path.curr_hf;
        verify(hop_count <= MAX_HOPS, error.ScionTooManyHops);
        verify(current >= segment_start && current < segment_end, error.ScionHopNotInSegment);
        // Common header and AS numbers, host addresses, EPIC header, path meta header, info fields, hop fields.
        meta.path_words = 7 + ((bit<8>) hdr.scion.dst_len + 1) + ((bit<8>) hdr.scion.src_len + 1)
                        + epic_words + 1 + info_words + HOP_WORDS * hop_count;
        verify(meta.path_words <= hdr.scion.hdr_len, error.ScionHeaderTooShort);
        if (current == segment_start && current != 0) {
            meta.first_of_segment = 1;
        }
        if (current + 1 == segment_end) {
            if (segment_end == hop_count) {
                meta.last_of_path = 1;
            } else {
                meta.last_of_segment = 1;
            }
        }
        transition select(meta.first_of_segment) {
            1: hops_and_previous;
            default: hops;
        }
    }

    state hops {
        packet.extract(hdr.hops_before, (bit<32>) current * HOP_BITS);
        transition current_hop;
    }

    state hops_and_previous {
        packet.extract(hdr.hops_before, ((bit<32>) current - 1) * HOP_BITS);
        packet.extract(hdr.hop_prev);
        transition current_hop;
    }

    state current_hop {
        packet.extract(hdr.hop);
        transition select(meta.last_of_segment, meta.last_of_path) {
            (1, _): next_hop;
            (_, 1): behind_path;
            default: in_transit;
        }
    }

    state next_hop {
        packet.extract(hdr.hop_next);
        current = current + 1;
        transition in_transit;
    }

    // For another AS: only extension headers are looked at, which must not be longer than the packet, nor repeat.
    state in_transit {
        transition select(hdr.scion.next_hdr) {
            PROTO_HOP_BY_HOP: transit_extensions;
            PROTO_END_TO_END: transit_extensions;
            default: accept;
        }
    }

    state transit_extensions {
        meta.in_transit = 1;
        meta.path_words = meta.path_words - HOP_WORDS * (hop_count - 1 - current);
        transition behind_path;
    }

    // ---- Other path types ---------------------------------------------------------------------------

#ifndef NO_ONE_HOP
    state one_hop_path {
        packet.extract(hdr.info);
        packet.extract(hdr.hop);
        packet.extract(hdr.hop_next);
        meta.path_words = 7 + ((bit<8>) hdr.scion.dst_len + 1) + ((bit<8>) hdr.scion.src_len + 1)
                        + 2 + 2 * HOP_WORDS;
        verify(meta.path_words <= hdr.scion.hdr_len, error.ScionHeaderTooShort);
        transition behind_path;
    }
#endif

    state empty_path {
        meta.path_words = 7 + ((bit<8>) hdr.scion.dst_len + 1) + ((bit<8>) hdr.scion.src_len + 1);
        verify(meta.path_words <= hdr.scion.hdr_len, error.ScionHeaderTooShort);
        transition behind_path;
    }

    // ---- Behind the SCION header: for the port to deliver to ----------------------------------------

    state behind_path {
        next_hdr = hdr.scion.next_hdr;
        meta.l4_port = END_HOST_PORT;
        packet.extract(hdr.path_rest, (bit<32>) (hdr.scion.hdr_len - meta.path_words) * 32);
        transition select(next_hdr) {
            PROTO_HOP_BY_HOP: hop_by_hop;
            default: maybe_end_to_end;
        }
    }

    state hop_by_hop {
        bit<16> first = packet.lookahead<bit<16>>();
        packet.extract(hdr.hop_by_hop, ((bit<32>) first[7:0] + 1) * 32 - 16);
        next_hdr = hdr.hop_by_hop.next_hdr;
        transition maybe_end_to_end;
    }

    state maybe_end_to_end {
        transition select(next_hdr) {
            PROTO_END_TO_END: end_to_end;
            PROTO_HOP_BY_HOP: extension_order;
            default: l4;
        }
    }

    state end_to_end {
        bit<16> first = packet.lookahead<bit<16>>();
        packet.extract(hdr.end_to_end, ((bit<32>) first[7:0] + 1) * 32 - 16);
        next_hdr = hdr.end_to_end.next_hdr;
        transition select(next_hdr) {
            PROTO_HOP_BY_HOP: extension_order;
            PROTO_END_TO_END: extension_order;
            default: l4;
        }
    }

    state extension_order {
        verify(false, error.ScionExtensionOrder);
        transition accept;
    }

    state l4 {
        transition select(meta.in_transit, next_hdr) {
            (0, PROTO_UDP): l4_udp;
            (0, PROTO_TCP): l4_tcp;
            (0, PROTO_SCMP): l4_scmp;
            (0, PROTO_BFD): l4_bfd;
            default: accept;
        }
    }

    // These headers are only looked at; a packet too short for them is malformed.
    state l4_udp {
        bit<64> udp = packet.lookahead<bit<64>>();
        meta.l4_port = udp[47:32];
        transition accept;
    }

    state l4_tcp {
        bit<160> tcp = packet.lookahead<bit<160>>();
        meta.l4_port = tcp[143:128];
        transition accept;
    }

    state l4_bfd {
        meta.bfd = 1;
        transition accept;
    }

    state l4_scmp {
        bit<32> scmp = packet.lookahead<bit<32>>();
        transition select(scmp[31:24]) {
            SCMP_ECHO_REQUEST: accept;
            SCMP_TRACEROUTE_REQUEST: accept;
            SCMP_ECHO_REPLY: scmp_echo_reply;
            SCMP_TRACEROUTE_REPLY: scmp_traceroute_reply;
            1: scmp_error;  // destination unreachable
            2: scmp_error;  // packet too big
            4: scmp_error;  // parameter problem
            5: scmp_error;  // external interface down
            6: scmp_error;  // internal connectivity down
            default: scmp_unknown;
        }
    }

    // Replies go to whoever has asked: the identifier is his port.
    state scmp_echo_reply {
        bit<64> echo = packet.lookahead<bit<64>>();
        meta.l4_port = echo[31:16];
        transition accept;
    }

    state scmp_traceroute_reply {
        bit<192> traceroute = packet.lookahead<bit<192>>();
        meta.l4_port = traceroute[159:144];
        transition accept;
    }

    state scmp_error {
        meta.l4 = L4.SCMP_ERROR;
        transition accept;
    }

    state scmp_unknown {
        meta.l4 = L4.UNKNOWN;
        transition accept;
    }
}
