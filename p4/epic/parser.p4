// From the frame to the current hop field. What makes it impossible to go on is an error here; what the fields say is checked
// later.

error {
    EpicPathMalformed            // segments with a gap, CurrHF not in segment CurrINF, lengths that do not fit
}

parser EpicParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // In hops, counted from the start of the path.
    bit<8> segment_start = 0;
    bit<8> segment_end = 0;
    bit<8> hop_count = 0;
    bit<8> info_count = 0;
    bit<8> destination_words = 0;
    bit<8> current = 0;
    bit<1> last_of_segment = 0;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_EPIC: scion;
            default: accept;
        }
    }

    state scion {
        packet.extract(hdr.scion);
        transition select(hdr.scion.path_type, hdr.scion.dst_len) {
            (PATH_EPIC, 0): dst4;
            (PATH_EPIC, 1): dst8;
            (PATH_EPIC, 2): dst12;
            (PATH_EPIC, 3): dst16;
            default: accept;
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
        packet.extract(hdr.path);
        transition select(hdr.scion.level) {
            0 .. 1: segments;
            default: destination;
        }
    }

    state destination {
        packet.extract(hdr.destination);
        destination_words = DESTINATION_WORDS;
        transition segments;
    }

    state segments {
        current = (bit<8>) hdr.path.curr_hf;
        segment_end = (bit<8>) hdr.path.seg0_len;
        hop_count = (bit<8>) hdr.path.seg0_len + (bit<8>) hdr.path.seg1_len + (bit<8>) hdr.path.seg2_len;
        transition select(hdr.path.seg1_len, hdr.path.seg2_len) {
            (0, 0): one_segment;
            (0, _): malformed;
            (_, 0): two_segments;
            default: three_segments;
        }
    }

    state one_segment    { info_count = 1; transition current_segment; }
    state two_segments   { info_count = 2; transition current_segment; }
    state three_segments { info_count = 3; transition current_segment; }

    state current_segment {
        transition select(hdr.path.curr_inf) {
            0: in_segment;
            1: second_segment;
            2: third_segment;
            default: malformed;
        }
    }

    state second_segment {
        segment_start = segment_end;
        segment_end = segment_start + (bit<8>) hdr.path.seg1_len;
        transition in_segment;
    }

    state third_segment {
        segment_start = segment_end + (bit<8>) hdr.path.seg1_len;
        segment_end = hop_count;
        transition in_segment;
    }

    state malformed {
        verify(false, error.EpicPathMalformed);
        transition accept;
    }

    state in_segment {
        // An empty segment has no hop that could be the current one.
        verify(hdr.path.seg0_len != 0 && current >= segment_start && current < segment_end
               && hop_count <= MAX_HOPS, error.EpicPathMalformed);
        // Common header and AS numbers, host addresses, path meta header, info fields, hop fields: nothing else.
        verify(hdr.scion.hdr_len == 7 + ((bit<8>) hdr.scion.dst_len + 1) + ((bit<8>) hdr.scion.src_len + 1)
                                  + META_WORDS + destination_words + INFO_WORDS * info_count
                                  + HOP_WORDS * hop_count, error.EpicPathMalformed);
        packet.extract(hdr.infos_before, (bit<32>) hdr.path.curr_inf * 64);
        packet.extract(hdr.info);
        if (current + 1 == segment_end) {
            if (segment_end == hop_count) {
                meta.last_of_path = 1;
            } else {
                last_of_segment = 1;
            }
        }
        info_count = info_count - 1 - (bit<8>) hdr.path.curr_inf;
        transition select(last_of_segment) {
            0: hops;
            1: segment_change;
        }
    }

    state hops {
        packet.extract(hdr.infos_after, (bit<32>) info_count * 64);
        packet.extract(hdr.hops_before, (bit<32>) current * 96);
        packet.extract(hdr.hop);
        transition accept;
    }

    state segment_change {
        packet.extract(hdr.info_next);
        packet.extract(hdr.infos_after, (bit<32>) (info_count - 1) * 64);
        packet.extract(hdr.hops_before, (bit<32>) current * 96);
        packet.extract(hdr.hop);
        packet.extract(hdr.hop_next);
        transition accept;
    }
}
