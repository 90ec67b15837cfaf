// Headers, and what the pipeline remembers about a packet.

// ---------------------------------------------------------------------------------------------------------
// Between the platform and its control plane

// Port of the control plane. Everything sent there carries a packet_in_t.
const bit<9> CPU_PORT = 510;

// What happened to a packet. From PUNT_FIRST on the packet goes to the CPU port, unmodified; before that it is dropped.
enum bit<8> Reason {
    NONE              = 0,   // forwarded
    UNKNOWN_MAC       = 1,   // the destination MAC belongs to no VDP
    STOPPED           = 2,   // the VDP is stopped
    SHAPED            = 3,   // above the VDP's rate
    MALFORMED         = 4,   // lengths, version or checksum of the IP header are wrong, or the packet is too short
    DROPPED           = 5,   // an entry says so
    NO_ENTRY          = 6,   // no entry, in a VDP that drops such packets
    EXCEPTIONS_SHAPED = 7,   // above the rate of the VDP's exceptions

    TO_CPU            = 16,  // mode 2
    EXCEPTION         = 17,  // an entry sends it to the CPU
    MISS              = 18,  // no entry
    TTL               = 19,  // TTL, hop limit or the field of module CUSTOM_DECREMENT is 0 or 1
    OTHER_PROTOCOL    = 20,  // not the protocol that the preprocessor reads: ARP in an IPv4 VDP, for example
    OPTIONS           = 21,  // IPv4 options
    UNRESOLVED        = 22   // the neighbour has no entry
}

const bit<8>  PUNT_FIRST = 16;
const bit<32> REASONS    = 32;  // counters of a VDP

// In front of a packet for the control plane, which follows unmodified: the platform header, and what the lookup saw.
@controller_header("packet_in")
header packet_in_t {
    bit<32>  hash;
    bit<16>  modules;
    bit<8>   mode;
    bit<8>   vdp;
    bit<8>   reason;         // Reason
    bit<16>  port;           // port it came in by
    bit<256> key;
}

// In front of a packet from the control plane.
@controller_header("packet_out")
header packet_out_t {
    bit<16> port;            // send as it is by this port; PROCESS: treat as if it had been received
    bit<16> ingress_port;    // ... by which port
}

const bit<16> PROCESS = 0xffff;
const bit<32> PACKET_OUT_BYTES = 4;

// ---------------------------------------------------------------------------------------------------------
// Protocols

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<16> ETHERTYPE_VLAN = 0x8100;

const bit<8> PROTO_ICMP     = 1;
const bit<8> PROTO_TCP      = 6;
const bit<8> PROTO_UDP      = 17;
const bit<8> PROTO_ICMPV6   = 58;
const bit<8> PROTO_SPLICING = 253;  // RFC 3692: for experiments

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header vlan_t {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> id;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> id;
    bit<3>  flags;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_len;
    bit<8>   next_hdr;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

// The first bytes of TCP and UDP.
header ports_t {
    bit<16> src;
    bit<16> dst;
}

// The first bytes of ICMP and ICMPv6.
header icmp_t {
    bit<8> type;
    bit<8> code;
}

// Path Splicing's shim behind the IPv4 header, of which SPLICING_BITS bits are read and shifted out at each hop.
header splicing_t {
    bit<8>   protocol;       // of what follows
    bit<8>   reserved;
    bit<112> indices;        // the next hop's is in the lowest bits; 0 when they are used up
}

#ifndef SPLICING_BITS
#define SPLICING_BITS 2
#endif

// Eight bytes of a protocol that the parser does not know.
header word_t {
    bit<64> value;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    vlan_t       vlan;
    ipv4_t       ipv4;
    ipv6_t       ipv6;
    ports_t      ports;
    icmp_t       icmp;
    splicing_t   splicing;
    word_t[8]    words;      // the first 64 bytes behind the headers above, but for TCP, UDP, ICMP and splicing_t
}

// ---------------------------------------------------------------------------------------------------------
// What is known about the packet

// The platform header, which selects what the later stages do.
struct platform_t {
    bit<32> hash;            // of the key; 0 in modes without a hash
    bit<16> modules;         // the postprocessing, MODULE_… below
    bit<8>  mode;            // of the lookup
    bit<8>  vdp;             // VDP id; 0: none
}

enum bit<8> Preprocessor {
    IPV4          = 0,
    CUSTOM        = 1,
    OPENFLOW      = 2,
    PATH_SPLICING = 3,
    IPV6          = 4
}

// Lookup modes: those of SwitchBlade, and two that compare the whole key, so that nothing depends on a hash that collides.
const bit<8> MODE_LPM              = 0;  // longest prefix of the 32-bit field, or of an IPv6 destination
const bit<8> MODE_HASH             = 1;  // exact on the hash
const bit<8> MODE_CPU              = 2;
const bit<8> MODE_EXCEPTIONS       = 3;  // the hash in the exceptions table, else as MODE_LPM
const bit<8> MODE_KEY              = 4;  // exact on the key
const bit<8> MODE_EXCEPTIONS_BY_KEY = 5; // the key in the exceptions table, else as MODE_LPM

// Bits of the module bitmap.
const bit<16> MODULE_KEEP_SRC_MAC     = 1;
const bit<16> MODULE_KEEP_TTL         = 2;
const bit<16> MODULE_KEEP_CHECKSUM    = 4;
const bit<16> MODULE_KEEP_DST_MAC     = 8;
const bit<16> MODULE_IPV6_HOP_LIMIT   = 16;
const bit<16> MODULE_CUSTOM_DECREMENT = 32;   // the byte at the offset that the VDP's registers say
const bit<16> MODULE_CUSTOM_CHECKSUM  = 64;   // ... the Internet checksum, for what modules 32 and 128 change
const bit<16> MODULE_CUSTOM_WRITE     = 128;  // ... a field, from the entry's data

struct metadata_t {
    platform_t   platform;
    Preprocessor preprocessor;
    Reason       reason;
    bit<32>      settings;   // the VDP's control register
    bit<1>       truncated;  // the frame ends in a header that it announces

    bit<256>     key;        // what exact lookups compare, or the hasher hashes
    bit<32>      field;      // what LPM looks up
    bit<8>       slice;      // in which of the VDP's LPM tables

    bit<9>       port;       // where it goes
    bit<16>      group;      // or this multicast group, if not 0
    bit<16>      neighbour;
    bit<32>      data;       // for module CUSTOM_WRITE
    bit<48>      src_mac;
    bit<48>      dst_mac;
}
