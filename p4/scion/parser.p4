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
#ifdef HUMMINGBIRD
    // In words, counted from the first hop field.
    bit<16> first_word = 0;      // of the current segment
    bit<16> end_word = 0;        // behind it
    bit<16> words = 0;           // of all hop fields
    bit<16> hop_words = 0;       // of the current hop field
    bit<16> passed_words = 0;    // of those in front that are still to be passed
    bit<16> words_behind = 0;    // of those behind what the router looks at
#endif

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
#ifdef HUMMINGBIRD
            PATH_HUMMINGBIRD: hummingbird_path;
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

#ifdef HUMMINGBIRD
    // ---- Path type Hummingbird ----------------------------------------------------------------------

    // Like a SCION path, but hop fields are of two lengths.
    state hummingbird_path {
        packet.extract(hdr.hummingbird);
        first_word = 0;
        end_word = (bit<16>) hdr.hummingbird.seg0_len;
        words = end_word + (bit<16>) hdr.hummingbird.seg1_len + (bit<16>) hdr.hummingbird.seg2_len;
        transition select(hdr.hummingbird.seg0_len, hdr.hummingbird.seg1_len, hdr.hummingbird.seg2_len,
                          hdr.hummingbird.curr_inf) {
            (0, _, _, _): malformed_path;
            (_, 0, 0, 0): reserved_1_of_1;
            (_, 0, _, _): malformed_path;
            (_, _, 0, 0): reserved_1_of_2;
            (_, _, 0, 1): reserved_2_of_2;
            (_, _, 0, _): malformed_path;
            (_, _, _, 0): reserved_1_of_3;
            (_, _, _, 1): reserved_2_of_3;
            (_, _, _, 2): reserved_3_of_3;
            default: malformed_path;
        }
    }

    state reserved_1_of_1 {
        packet.extract(hdr.info);
        info_words = 2;
        transition reserved_hops;
    }

    state reserved_1_of_2 {
        packet.extract(hdr.info);
        packet.extract(hdr.info_next);
        info_words = 4;
        transition reserved_hops;
    }

    state reserved_2_of_2 {
        packet.extract(hdr.info_prev);
        packet.extract(hdr.info);
        info_words = 4;
        first_word = end_word;
        end_word = words;
        transition reserved_hops;
    }

    state reserved_1_of_3 {
        packet.extract(hdr.info);
        packet.extract(hdr.info_next);
        packet.extract(hdr.info_next2);
        info_words = 6;
        transition reserved_hops;
    }

    state reserved_2_of_3 {
        packet.extract(hdr.info_prev);
        packet.extract(hdr.info);
        packet.extract(hdr.info_next);
        info_words = 6;
        first_word = end_word;
        end_word = end_word + (bit<16>) hdr.hummingbird.seg1_len;
        transition reserved_hops;
    }

    state reserved_3_of_3 {
        packet.extract(hdr.info_prev2);
        packet.extract(hdr.info_prev);
        packet.extract(hdr.info);
        info_words = 6;
        first_word = end_word + (bit<16>) hdr.hummingbird.seg1_len;
        end_word = words;
        transition reserved_hops;
    }

    state reserved_hops {
        passed_words = (bit<16>) hdr.hummingbird.curr_hf;
        verify(passed_words >= first_word && passed_words + (bit<16>) HOP_WORDS <= end_word, error.ScionHopNotInSegment);
        // Common header and AS numbers, host addresses, path meta header, info fields, hop fields.
        hop_words = 7 + ((bit<16>) hdr.scion.dst_len + 1) + ((bit<16>) hdr.scion.src_len + 1) + 3 + (bit<16>) info_words + words;
        verify(hop_words <= (bit<16>) hdr.scion.hdr_len, error.ScionHeaderTooShort);
        meta.path_words = hop_words[7:0];
        meta.path_bytes = hop_words << 2;
        words_behind = words - passed_words;
        if (passed_words == first_word && passed_words != 0) {
            meta.first_of_segment = 1;
            if (hdr.info.peering == 0) {
                // The flyover of a segment change is at the current hop, so the one before has none.
                verify(passed_words >= (bit<16>) HOP_WORDS, error.ScionHopNotInSegment);
                passed_words = passed_words - (bit<16>) HOP_WORDS;
            }
        }
        transition select(passed_words) {
            0: reserved_previous;
            default: reserved_passed;
        }
    }

    // CurrHF has to be where a hop field begins: all before it are looked at.
    state reserved_passed {
        hop_words = packet.lookahead<bit<1>>() == 1 ? 16w5 : 3;
        verify(hop_words <= passed_words, error.ScionHopNotInSegment);
        packet.extract(hdr.passed_hops.next, (bit<32>) hop_words << 5);
        passed_words = passed_words - hop_words;
        transition select(passed_words) {
            0: reserved_previous;
            default: reserved_passed;
        }
    }

    state reserved_previous {
        transition select(meta.first_of_segment, hdr.info.peering) {
            (1, 0): reserved_previous_hop;
            default: reserved_hop;
        }
    }

    state reserved_previous_hop {
        packet.extract(hdr.hop_prev);
        verify(hdr.hop_prev.reserved[5:5] == 0, error.ScionHopNotInSegment);
        transition reserved_hop;
    }

    state reserved_hop {
        packet.extract(hdr.hop);
        transition select(hdr.hop.reserved[5:5]) {
            1: reserved_flyover;
            default: reserved_end_of_hop;
        }
    }

    state reserved_flyover {
        packet.extract(hdr.flyover);
        words_behind = words_behind - (bit<16>) FLYOVER_WORDS;
        transition reserved_end_of_hop;
    }

    state reserved_end_of_hop {
        words_behind = words_behind - (bit<16>) HOP_WORDS;
        // What is left of the segment is nothing, or at least one more hop field.
        verify(words_behind <= words && words - words_behind <= end_word
               && (words - words_behind == end_word || words - words_behind + (bit<16>) HOP_WORDS <= end_word),
               error.ScionHopNotInSegment);
        if (words - words_behind == end_word) {
            if (end_word == words) {
                meta.last_of_path = 1;
            } else {
                meta.last_of_segment = 1;
            }
        }
        transition select(meta.last_of_segment, meta.last_of_path) {
            (1, _): reserved_next_hop;
            (_, 1): behind_path;
            default: reserved_in_transit;
        }
    }

    state reserved_next_hop {
        verify(words_behind >= (bit<16>) HOP_WORDS, error.ScionHopNotInSegment);
        packet.extract(hdr.hop_next);
        words_behind = words_behind - (bit<16>) HOP_WORDS;
        transition reserved_in_transit;
    }

    state reserved_in_transit {
        transition select(hdr.scion.next_hdr) {
            PROTO_HOP_BY_HOP: reserved_extensions;
            PROTO_END_TO_END: reserved_extensions;
            default: accept;
        }
    }

    state reserved_extensions {
        meta.in_transit = 1;
        meta.path_words = meta.path_words - words_behind[7:0];
        transition behind_path;
    }
#endif

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
