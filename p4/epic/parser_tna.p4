// From the frame to the current hop field, for Tofino 2, and what the pipeline remembers about a packet. What the fields say is
// checked later.

// The recirculation port of each pipe, and what packets have in front when they come by it: the first pass has checked their last
// hop of a segment.
const bit<7> RECIRCULATION_PORT = 6;

header bridge_t {
    LinkType ingress_type;
    bit<6>   reserved;
}

struct headers_t {
    bridge_t    bridge;
    packet_in_t packet_in;
    ethernet_t  ethernet;
    scion_t     scion;
    host4_t     dst4;
    host8_t     dst8;
    host12_t    dst12;
    host16_t    dst16;
    host4_t     src4;
    host8_t     src8;
    host12_t    src12;
    host16_t    src16;
    path_meta_t path;
    info_t[2]   infos_before;
    info_t      info;            // current segment
    info_t[2]   infos_after;
    hop_t[63]   hops_before;
    hop_t       hop;             // current hop
}

struct metadata_t {
    Reason   reason;
    bit<64>  ia;                 // AS that this router belongs to
    bit<2>   min_level;
    bit<16>  ingress;            // interface by which it came, 0 from a host of this AS, and in the second pass
    LinkType ingress_type;
    LinkType egress_type;
    PortId_t egress_port;
    bit<48>  egress_mac;         // of whoever is at the other end
    bit<48>  own_mac;
    bit<8>   fixed_words;        // of the header, but for addresses and hop fields: as if both addresses had a word
    // What was found.
    bit<1>   configured;
    bit<1>   epic;
    bit<1>   failed;             // the parser
    bit<1>   outside;            // the current hop is not in the current segment
    bit<1>   wrong_length;
    bit<1>   wrong_level;
    bit<1>   wrong_ingress;
    bit<1>   own_source;
    bit<1>   own_destination;
    bit<1>   from_host;
    bit<1>   last_of_segment;
    bit<1>   last_of_path;
    bit<1>   expired;
    bit<1>   stale;
    bit<1>   from_future;
    bit<1>   no_egress;
    bit<1>   no_host;
    bit<1>   no_transit;
    bit<1>   again;              // there is a second pass
    bit<16>  chain;              // zero if the hop field is good
    bit<32>  validation;         // ... for this packet
}

parser EpicIngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    ParserCounter() hops;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta = { Reason.NONE, 0, 0, 0, LinkType.HOST, LinkType.HOST, 0, 0, 0, 0,
                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        transition select(ig_intr_md.ingress_port[6:0]) {
            RECIRCULATION_PORT: bridge;
            default: ethernet;
        }
    }

    state bridge {
        packet.extract(hdr.bridge);
        transition ethernet;
    }

    state ethernet {
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
        meta.epic = 1;
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
        hops.set(hdr.path.curr_hf, 63, 0, 0x3f, 0);
        transition select(hdr.scion.level, hdr.path.curr_inf, hdr.path.seg1_len, hdr.path.seg2_len) {
            (2 .. 3, _, _, _): accept;
            (_, 0, 0, 0): one_segment;
            (_, _, 0, _): malformed;
            (_, 0, _, 0): first_of_two;
            (_, 0, _, _): first_of_three;
            (_, 1, _, 0): second_of_two;
            (_, 1, _, _): second_of_three;
            (_, 2, _, 0): malformed;
            (_, 2, _, _): third_of_three;
            default: malformed;
        }
    }

    state malformed {
        meta.outside = 1;
        transition accept;
    }

    state one_segment {
        meta.fixed_words = 14;
        packet.extract(hdr.info);
        transition before;
    }
    state first_of_two {
        meta.fixed_words = 16;
        packet.extract(hdr.info);
        packet.extract(hdr.infos_after[0]);
        transition before;
    }
    state first_of_three {
        meta.fixed_words = 18;
        packet.extract(hdr.info);
        packet.extract(hdr.infos_after[0]);
        packet.extract(hdr.infos_after[1]);
        transition before;
    }
    state second_of_two {
        meta.fixed_words = 16;
        packet.extract(hdr.infos_before[0]);
        packet.extract(hdr.info);
        transition before;
    }
    state second_of_three {
        meta.fixed_words = 18;
        packet.extract(hdr.infos_before[0]);
        packet.extract(hdr.info);
        packet.extract(hdr.infos_after[0]);
        transition before;
    }
    state third_of_three {
        meta.fixed_words = 18;
        packet.extract(hdr.infos_before[0]);
        packet.extract(hdr.infos_before[1]);
        packet.extract(hdr.info);
        transition before;
    }

    state before {
        transition select(hops.is_zero()) {
            true: current;
            false: hop_before;
        }
    }

    state hop_before {
        packet.extract(hdr.hops_before.next);
        hops.decrement(1);
        transition before;
    }

    state current {
        packet.extract(hdr.hop);
        transition accept;
    }
}

struct egress_headers_t {
    ethernet_t ethernet;
    scion_t    scion;
}

struct egress_metadata_t { }

// Packets on their way to the second pass have other bytes in front, and are checked behind it.
parser EpicEgressParser(packet_in packet, out egress_headers_t hdr, out egress_metadata_t meta,
                        out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        transition select(eg_intr_md.egress_port[6:0]) {
            RECIRCULATION_PORT: accept;
            default: frame;
        }
    }

    state frame {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.scion);
        transition accept;
    }
}
