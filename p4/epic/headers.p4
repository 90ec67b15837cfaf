// Headers of an EPIC packet.
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

// How the neighbour AS relates to this one.
enum bit<2> LinkType {
    HOST   = 0,
    CORE   = 1,
    PARENT = 2,
    CHILD  = 3
}

// The message of a hop authenticator: SCION's.
bit<128> hop_block(in bit<16> seg_id, in bit<32> timestamp, in hop_t hop) {
    return 16w0 ++ seg_id ++ timestamp ++ 8w0 ++ hop.exp_time ++ hop.cons_ingress ++ hop.cons_egress ++ 16w0;
}
