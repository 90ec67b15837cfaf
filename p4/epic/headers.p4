// Headers of an EPIC packet, and what the pipeline remembers about it.
//
// Common header, addresses, info and hop fields are SCION's
// (https://docs.scion.org/en/latest/protocols/scion-header.html). The path meta header goes on with the packet's timestamp and a
// counter. A hop field's six bytes of MAC are
//
//   level 0     the first six bytes of the hop authenticator, the same in each packet
//   levels 1-3  two bytes of the hop authenticator, which chain the hops of a segment, and four of the hop validation field (HVF),
//               different in each packet
//
// All numbers are in network byte order. "Word" means 4 bytes: HdrLen counts those.

// Port of the control plane.
const bit<9> CPU_PORT = 510;

// In front of a punted packet, which follows unmodified.
@controller_header("packet_in")
header packet_in_t {
    bit<8>  reason;              // Reason
    bit<8>  level;
    bit<16> port;                // port it came in by
    bit<16> ingress;             // interface it came in by, 0 from a host of this AS
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

const bit<32> ETHERNET_BYTES = 14;

// IEEE 802's local experimental EtherType 1.
const bit<16> ETHERTYPE_EPIC = 0x88b5;

// Path types: the level is in the last two bits. Not assigned to anybody in SCION.
const bit<6> PATH_EPIC = 0b111000;

header scion_t {
    bit<32> version_class_flow;  // version 4, traffic class 8, flow id 20
    bit<8>  next_hdr;            // of what follows the SCION header
    bit<8>  hdr_len;             // whole SCION header, in words
    bit<16> payload_len;         // bytes behind it
    bit<6>  path_type;           // PATH_EPIC
    bit<2>  level;
    bit<2>  dst_type;
    bit<2>  dst_len;             // words minus one
    bit<2>  src_type;
    bit<2>  src_len;
    bit<16> reserved;
    bit<64> dst_ia;              // ISD 16, AS 48
    bit<64> src_ia;
}

// Host addresses by length.
header host4_t  { bit<32>  addr; }
header host8_t  { bit<64>  addr; }
header host12_t { bit<96>  addr; }
header host16_t { bit<128> addr; }

// Path meta header. Source, timestamp and counter together name one packet.
header path_meta_t {
    bit<2>  curr_inf;
    bit<6>  curr_hf;
    bit<6>  reserved;
    bit<6>  seg0_len;
    bit<6>  seg1_len;
    bit<6>  seg2_len;
    bit<32> timestamp;           // when it was sent, seconds since 1970
    bit<32> counter;             // tells packets of one second apart
}

// Levels 2 and 3: what source and destination have computed over the packet with their common key. Routers pass it on.
header destination_t {
    bit<128> validation;
}

// One per segment.
header info_t {
    bit<6>  reserved0;
    bit<1>  peering;             // not supported: 0
    bit<1>  cons_dir;            // travelled in the direction it was constructed
    bit<8>  reserved1;
    bit<16> seg_id;              // chains the hops' authenticators; updated on the way
    bit<32> timestamp;           // of construction, seconds since 1970
}

// One per AS of a segment.
header hop_t {
    bit<8>  flags;
    bit<8>  exp_time;            // lifetime, (1 + exp_time) * 337.5 seconds
    bit<16> cons_ingress;        // interface by which construction entered the AS
    bit<16> cons_egress;         // ... left it
    bit<16> chain;               // first two bytes of the hop authenticator
    bit<32> hvf;                 // level 0: the next four
}

const bit<8>  META_WORDS        = 3;
const bit<8>  DESTINATION_WORDS = 4;
const bit<8>  INFO_WORDS        = 2;
const bit<8>  HOP_WORDS         = 3;
const bit<8>  MAX_HOPS          = 64;

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

// How the neighbour AS relates to this one.
enum bit<2> LinkType {
    HOST   = 0,
    CORE   = 1,
    PARENT = 2,
    CHILD  = 3
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
