// Headers and parser states that the benchmark programs share.

#define CPU_PORT 510

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_MPLS = 0x8847;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

typedef bit<48> mac_t;
typedef bit<9> port_t;

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> id;
    bit<3>  flags;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

// What TCP and UDP begin with.
header ports_t {
    bit<16> src;
    bit<16> dst;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

// What a header checksum covers.
#define IPV4_CHECKED(ip) { ip.version, ip.ihl, ip.tos, ip.length, ip.id, ip.flags, ip.offset, ip.ttl, ip.protocol, ip.src, ip.dst }
