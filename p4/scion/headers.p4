// Headers of the underlay and of SCION, and what the pipeline remembers about a packet.
//
// SCION headers: https://docs.scion.org/en/latest/protocols/scion-header.html
// All numbers are in network byte order. "Word" means 4 bytes: HdrLen counts those.

// ---------------------------------------------------------------------------------------------------------
// Between this program and its agent

// Port of the control plane. Everything sent there carries a packet_in_t.
const bit<9> CPU_PORT = 510;

// Port of the processes on this machine, which are hosts of the AS.
const bit<16> LOCAL_PORT = 509;
// The same for what must not wait behind a flood of others: BFD.
const bit<9> URGENT_CPU_PORT = 508;

// In front of a punted packet, which follows unmodified.
@controller_header("packet_in")
header packet_in_t {
    bit<8>   reason;         // Reason
    bit<8>   at_next_hop;    // 1: the check that failed was about the hop after the segment change
    bit<16>  port;           // port it came in by
    bit<16>  ingress;        // SCION interface it came in by, 0 from inside the AS
    bit<16>  egress;         // SCION interface it would leave by, 0 if unknown or to a host of this AS
    bit<128> next_hop;       // with NEXT_HOP_UNRESOLVED: host to resolve (IPv4 as ::ffff:a.b.c.d), 0 if a link
}

// In front of a packet from the agent.
@controller_header("packet_out")
header packet_out_t {
    bit<16> port;            // send as it is by this port; PROCESS, RECEIVED: treat as if it had been received
    bit<16> ingress_port;    // ... by which port
    bit<16> l4_port;         // ... where to deliver an SCMP error, 0 if not known
}

const bit<32> PACKET_OUT_BYTES = 6;

const bit<16> PROCESS = 0xffff;
// The same for a packet that was punted before it was counted as received.
const bit<16> RECEIVED = 0xfffe;

// ---------------------------------------------------------------------------------------------------------
// Underlay

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<8>  version_ihl;     // 0x45: version 4, no options
    bit<8>  tos;
    bit<16> total_len;       // bytes, this header included
    bit<16> id;
    bit<16> fragment;        // flags (reserved, DF, MF) and fragment offset
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

const bit<16> IPV4_DONT_FRAGMENT = 0x4000;

header ipv6_t {
    bit<32>  version_class_label;
    bit<16>  payload_len;    // bytes, this header not included
    bit<8>   next_hdr;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;          // bytes, this header included
    bit<16> checksum;        // 0: none (IPv4 only)
}

const bit<16> UDP_BYTES = 8;

// Numbers of IP protocols; SCION's own are in NextHdr only.
const bit<8> PROTO_TCP        = 6;
const bit<8> PROTO_UDP        = 17;
const bit<8> PROTO_HOP_BY_HOP = 200;
const bit<8> PROTO_END_TO_END = 201;
const bit<8> PROTO_SCMP       = 202;
const bit<8> PROTO_BFD        = 203;

// ---------------------------------------------------------------------------------------------------------
// SCION common header and address header

// Path types.
const bit<8> PATH_EMPTY   = 0;
const bit<8> PATH_SCION   = 1;
const bit<8> PATH_ONE_HOP = 2;
const bit<8> PATH_EPIC    = 3;
#ifdef HUMMINGBIRD
const bit<8> PATH_HUMMINGBIRD = 5;
#endif

// Common header (12 bytes) and the two AS numbers, which every packet has.
header scion_t {
    bit<32> version_class_flow;  // version 4, traffic class 8, flow id 20
    bit<8>  next_hdr;            // of what follows the SCION header
    bit<8>  hdr_len;             // whole SCION header, in words
    bit<16> payload_len;         // bytes behind it
    bit<8>  path_type;
    bit<2>  dst_type;            // with the length: which kind of host address
    bit<2>  dst_len;             // words minus one
    bit<2>  src_type;
    bit<2>  src_len;
    bit<16> reserved;
    bit<64> dst_ia;              // ISD 16, AS 48
    bit<64> src_ia;
}

// Kinds of host address, type ++ length.
const bit<4> HOST_IPV4    = 0b0000;
const bit<4> HOST_IPV6    = 0b0011;
const bit<4> HOST_SERVICE = 0b0100;

// Host addresses; each length is a header of its own, so that everything behind has a fixed place in it.
header host4_t  { bit<32>  addr; }
header host8_t  { bit<64>  addr; }
header host12_t { bit<96>  addr; }
header host16_t { bit<128> addr; }

// ---------------------------------------------------------------------------------------------------------
// SCION path

// In front of a path of type EPIC-HP: what names this one packet, and its proof to the last two ASes.
header epic_t {
    bit<32> timestamp;           // when it was sent: 21 us units, minus one, since the first info field's timestamp
    bit<32> counter;             // tells packets of one moment apart
    bit<32> penultimate_hvf;     // hop validation field for the last AS but one
    bit<32> last_hvf;            // ... for the last
}

// Path meta header: which info and hop field are current, and how many hops each segment has.
header path_meta_t {
    bit<2> curr_inf;
    bit<6> curr_hf;
    bit<6> reserved;
    bit<6> seg0_len;
    bit<6> seg1_len;
    bit<6> seg2_len;
}

// One per segment.
header info_t {
    bit<6>  reserved0;
    bit<1>  peering;             // the segment ends or begins at a peering link
    bit<1>  cons_dir;            // travelled in the direction it was constructed
    bit<8>  reserved1;
    bit<16> seg_id;              // chains the hops' MACs; updated on the way
    bit<32> timestamp;           // of construction, seconds since 1970
}

// One per AS of a segment.
header hop_t {
    bit<6>  reserved;
    bit<1>  ingress_alert;       // in construction direction: the ingress router must look
    bit<1>  egress_alert;        // ... the egress router
    bit<8>  exp_time;            // lifetime, (1 + exp_time) * 337.5 seconds
    bit<16> cons_ingress;        // interface by which construction entered the AS
    bit<16> cons_egress;         // ... left it
    bit<48> mac;
}

#ifdef HUMMINGBIRD
// Path meta header of a Hummingbird path: counts words, not hops.
header hummingbird_t {
    bit<2>  curr_inf;
    bit<8>  curr_hf;
    bit<1>  reserved;
    bit<7>  seg0_len;
    bit<7>  seg1_len;
    bit<7>  seg2_len;
    bit<32> base_timestamp;      // seconds since 1970
    bit<10> millis;              // when it was sent, since then
    bit<22> counter;             // tells packets of one moment apart
}

// Behind a hop field whose first bit is set: a reservation.
header flyover_t {
    bit<22> res_id;
    bit<10> bandwidth;
    bit<16> start_offset;        // seconds from the start to the base timestamp
    bit<16> duration;            // seconds
}

// A hop before those the router looks at.
header passed_hop_t { varbit<160> bits; }
#endif

const bit<8>  EPIC_WORDS    = 4;
const bit<8>  HOP_WORDS     = 3;
const bit<8>  MAX_HOPS      = 64;
const bit<32> HOP_BITS      = 96;
#ifdef HUMMINGBIRD
const bit<7>  FLYOVER_WORDS = 2;
#define MAX_PASSED_HOPS 63
#endif

// The hops before those the router looks at: their number is the packet's business.
header hops_t      { varbit<6048> bits; }

// What HdrLen leaves behind the path.
header path_rest_t { varbit<8160> bits; }

// Extension header, hop-by-hop or end-to-end: 4 * (len + 1) bytes in all.
header extension_t {
    bit<8>       next_hdr;
    bit<8>       len;
    varbit<8176> options;
}

struct headers_t {
#ifdef TOFINO
    bridge_t     bridge;
#endif
    packet_in_t  packet_in;
    packet_out_t packet_out;

    ethernet_t   ethernet;
    ipv4_t       ipv4;
    ipv6_t       ipv6;
    udp_t        udp;

    scion_t      scion;
    host4_t      dst4;
    host8_t      dst8;
    host12_t     dst12;
    host16_t     dst16;
    host4_t      src4;
    host8_t      src8;
    host12_t     src12;
    host16_t     src16;

    epic_t       epic;

    // A SCION path seen from the current hop. Which of these are there depends on where that is.
    // A one-hop path has info, hop (the sender's) and hop_next (filled in by the receiving router).
    path_meta_t  path;
#ifdef HUMMINGBIRD
    hummingbird_t hummingbird;   // instead
#endif
    info_t       info_prev2;
    info_t       info_prev;
    info_t       info;           // current segment
    info_t       info_next;
    info_t       info_next2;
    hops_t       hops_before;
#ifdef HUMMINGBIRD
    passed_hop_t[MAX_PASSED_HOPS] passed_hops; // instead
#endif
    hop_t        hop_prev;       // last hop of the previous segment, if the current is the first of its own
#ifdef HUMMINGBIRD
    flyover_t    flyover_prev;
#endif
    hop_t        hop;            // current hop
#ifdef HUMMINGBIRD
    flyover_t    flyover;
#endif
    hop_t        hop_next;       // first hop of the next segment, if the current is the last of its own
#ifdef HUMMINGBIRD
    flyover_t    flyover_next;
#endif

    // Behind the path, only if the packet may be for a host of this AS or has extension headers. In transit, path_rest
    // begins behind the last hop above.
    path_rest_t  path_rest;
    extension_t  hop_by_hop;
    extension_t  end_to_end;
}

// ---------------------------------------------------------------------------------------------------------
// Metadata

// What is at the other end of an underlay connection.
enum bit<2> LinkScope {
    INTERNAL = 0,                // hosts of this AS
    SIBLING  = 1,                // another border router of this AS
    EXTERNAL = 2                 // a border router of another AS
}

// How the neighbour AS relates to this one. A link to hosts or siblings has no relation.
enum bit<3> LinkType {
    UNSET  = 0,
    CORE   = 1,
    PARENT = 2,
    CHILD  = 3,
    PEER   = 4
}

// What the agent knows about the way out.
enum bit<2> LinkState {
    UP         = 0,
    DOWN       = 1,              // BFD says so
    UNRESOLVED = 2               // the neighbour's link-layer address is not known
}

// How the destination port inside the AS was found.
enum bit<2> L4 {
    PORT       = 0,
    SCMP_ERROR = 1,              // would have to be taken from the quoted packet
    UNKNOWN    = 2
}

// Kinds of traffic, as the reference router's metrics name them.
enum bit<3> Traffic {
    OTHER       = 0,             // one-hop paths
    IN          = 1,             // to a host of this AS
    OUT         = 2,             // from a host of this AS
    IN_TRANSIT  = 3,             // through the AS: comes in here, leaves by a sibling router
    OUT_TRANSIT = 4,             // ... came in at a sibling router, leaves here
    BR_TRANSIT  = 5              // ... both here
}

// Where the packet came from.
struct source_t {
    LinkScope scope;
    LinkType  relation;
    bit<16>   interface;         // SCION interface, 0 from inside
    bit<16>   sibling;           // agent's number of the sibling router, 0 if none
    bit<12>   index;             // of the link's counters
    bit<16>   arrival;           // port of the device that has the address it came to, 0 if any may
}

// Where it goes: everything the underlay headers need.
struct target_t {
    LinkScope scope;
    LinkType  relation;
    LinkState status;
    bit<1>    over_ipv6;
    bit<16>   interface;         // SCION interface, 0 for a host of this AS
    bit<12>   index;             // of the link's counters
    bit<9>    port;
    bit<48>   dst_mac;
    bit<48>   src_mac;
    bit<32>   dst4;
    bit<32>   src4;
    bit<128>  dst6;
    bit<128>  src6;
    bit<16>   dst_port;
    bit<16>   src_port;
    bit<16>   udp_limit;         // longest UDP datagram for the link's MTU, header included
}

// This router, as the agent describes it.
struct router_t {
    bit<64>  ia;                 // AS it belongs to
    bit<64>  now;                // microseconds since 1970
    bit<1>   over_ipv6;          // underlay of the AS
    bit<32>  addr4;              // internal address
    bit<128> addr6;
    bit<16>  port;
}

struct metadata_t {
    Reason   reason;             // why not forwarded; NONE as long as all is well
    router_t router;
    source_t source;
    target_t target;
    bit<5>   size;               // step of the SCION packet's size, for the counters
    bit<2>   front;              // in front of the SCION packet received: a packet_out_t, IPv6; for the counters

    // Path, from the parser.
    bit<1>   first_of_segment;   // current hop is the first of its segment, but not of the path
    bit<1>   last_of_segment;    // current hop is the last of its segment, but not of the path
    bit<1>   last_of_path;       // current hop is the last of all
    bit<8>   path_words;         // SCION header up to the end of the path, in words
    bit<1>   in_transit;         // has extension headers, but is for another AS

    // Path, from the checks.
    bit<1>   peering;            // current hop is at a peering link: its segment's chain is not continued
    bit<1>   segment_change;     // the packet goes on in the next segment, within this router
    bit<1>   at_next_hop;        // the check that failed was about the hop after the segment change
    bit<16>  seg_id;             // of the current segment, as the current hop's MAC wants it
    bit<128> tag;                // MAC of the current hop as computed
    bit<128> tag_next;           // at a segment change, of the next one
    bit<48>  new_hop_mac;        // of the hop that a router adds to a one-hop path
#ifdef HUMMINGBIRD
    bit<16>  path_bytes;         // SCION header up to the end of the path
    bit<16>  flyover_ingress;    // the interfaces of the current hop's reservation
    bit<16>  flyover_egress;
    bit<32>  flyover_start;      // seconds since 1970
    bit<48>  flyover_mac;        // what the hop's MAC has been rid of
#endif

    // Delivery inside the AS.
    L4       l4;
    bit<16>  l4_port;
    bit<1>   bfd;                // the payload is a BFD packet

    // One's complement sum of what changed, the new minus the old, modulo 2^64. For the UDP checksum.
    bit<64>  changes;
}
