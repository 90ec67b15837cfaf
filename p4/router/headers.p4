// Headers, and what the program remembers about a packet. All numbers are in network byte order.

// ---------------------------------------------------------------------------------------------------------
// Between this program and its agent

// Port of the control plane. Everything sent there carries a packet_in_t.
const bit<9> CPU_PORT = 510;
// The same for protocols that must not wait behind a flood of other packets: see control_protocols.
const bit<9> URGENT_CPU_PORT = 508;

// Reverse path validation (RFC 3704): whether the route to a packet's source has to lead by the port that the packet came by, or
// anywhere; what fails is the control plane's to drop.
const bit<2> SOURCE_UNCHECKED = 0;
const bit<2> SOURCE_STRICT = 1;
const bit<2> SOURCE_LOOSE = 2;
// An interface: a port, and behind it the VLAN, or 0 for frames without a tag.
typedef bit<21> interface_t;

// In front of a punted packet, which follows unmodified.
@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
    bit<8>  reason;          // Reason
}

// In front of a packet from the agent, which leaves as it is.
@controller_header("packet_out")
header packet_out_t {
    bit<16> egress_port;
}

// ---------------------------------------------------------------------------------------------------------

typedef bit<48> mac_t;

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> type;
}

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_VLAN = 0x8100;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_LLDP = 0x88cc;
// Smaller numbers are lengths: an LLC header follows.
const bit<16> FIRST_TYPE = 0x0600;

const bit<32> ETHERNET_BYTES = 14;
const bit<32> VLAN_BYTES = 4;
const bit<32> IPV6_BYTES = 40;

// IEEE 802.1Q: behind the Ethernet addresses, and the type TYPE_VLAN.
header vlan_t {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> id;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;             // in words of four bytes
    bit<8>  tos;
    bit<16> length;          // bytes, this header included
    bit<16> id;
    bit<1>  reserved;
    bit<1>  dont_fragment;
    bit<1>  more_fragments;
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
    bit<16>  payload_length; // bytes, this header not included
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

const bit<8> PROTOCOL_HOP_BY_HOP = 0;
const bit<8> PROTOCOL_IGMP = 2;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_ICMPV6 = 58;
const bit<8> PROTOCOL_OSPF = 89;
const bit<8> PROTOCOL_PIM = 103;
const bit<8> PROTOCOL_VRRP = 112;
const bit<8> PROTOCOL_SCTP = 132;

// What TCP, UDP and SCTP begin with.
header ports_t {
    bit<16> src;
    bit<16> dst;
}

header icmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
}

#ifdef PATH_SPLICING
#include "splicing_header.p4"
#endif

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    vlan_t       vlan;
    ipv4_t       ipv4;
    ipv6_t       ipv6;
    ports_t      ports;
    icmp_t       icmp;
#ifdef PATH_SPLICING
    splicing_t   splicing;
#endif
}

struct meta_t {
    Reason  reason;
    mac_t   mac;             // of the ingress port
    bit<32> hash_seed;
    bit<1>  link_group;      // the frame came as a link-layer multicast or broadcast
    interface_t interface;   // by which the packet came
    bit<1>  kernel_ipv4;     // of this interface: only the kernel may forward IPv4
    bit<1>  kernel_ipv6;     // the same for IPv6
    bit<1>  kernel_frames;   // frames to other stations, too, are the kernel's
    bit<2>  check_source;    // of this interface, for IPv4: SOURCE_*
    bit<1>  source_known;    // there is a route to the source
    interface_t source_interface; // by which it leads, or a number that no interface has
    bit<16> vrf;             // of this interface; 0: none
    bit<1>  vrf_first;       // its routes come before the router's own addresses
    bit<32> route;           // index of the route's counter
    bit<16> next_hop;
    bit<16> group;           // of next hops; 0: the route has one next hop
#ifdef PATH_SPLICING
    bit<8>  slice;
#endif
    bit<16> flow;            // hash of the flow
    bit<32> length;          // bytes of the IP packet
    bit<9>  egress_port;
    bit<12> egress_vlan;     // 0: the packet leaves without a tag
    mac_t   src;
    mac_t   dst;
    bit<16> mtu;             // of the egress interface
}
