// From the frame to the current hop field, and what the pipeline remembers about a packet. What makes it impossible to go on is
// an error here; what the fields say is checked later.

// Info and hop fields that the router passes on.
header infos_t { varbit<128>  bits; }
header hops_t  { varbit<6048> bits; }

struct headers_t {
    packet_in_t   packet_in;
    ethernet_t    ethernet;
    scion_t       scion;
    host4_t       dst4;
    host8_t       dst8;
    host12_t      dst12;
    host16_t      dst16;
    host4_t       src4;
    host8_t       src8;
    host12_t      src12;
    host16_t      src16;
    path_meta_t   path;
    destination_t destination;
    infos_t       infos_before;
    info_t        info;          // current segment
    info_t        info_next;     // the next one, if the current hop is the last of its segment
    infos_t       infos_after;
    hops_t        hops_before;
    hop_t         hop;           // current hop
    hop_t         hop_next;      // first hop of the next segment, which is of this AS, too
}

struct metadata_t {
    Reason   reason;
    bit<64>  ia;                 // AS that this router belongs to
    bit<64>  now;                // microseconds since 1970
    bit<2>   min_level;
    bit<16>  ingress;            // interface by which it came, 0 from a host of this AS
    LinkType ingress_type;
    bit<16>  egress;             // interface by which it leaves, 0 to a host
    LinkType egress_type;
    bit<9>   egress_port;
    bit<48>  egress_mac;         // of whoever is at the other end
    bit<48>  own_mac;
    bit<1>   last_of_path;
    bit<16>  seg_id;             // of the current segment, as the current hop's authenticator wants it
    bit<128> source_key;         // levels 2 and 3: between this AS and the source host
}

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
