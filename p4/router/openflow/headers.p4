// Headers, and what a packet's passes know.

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

// An 802.1Q or 802.1ad tag. The header in front of it says which by its `type`.
header vlan_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
    bit<16> type;
}

header arp_t {
    bit<16> hardware_type;
    bit<16> protocol_type;
    bit<8>  hardware_length;
    bit<8>  protocol_length;
    bit<16> operation;
    bit<48> sender_mac;
    bit<32> sender_ip;
    bit<48> target_mac;
    bit<32> target_ip;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
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

header ipv4_options_t {
    varbit<320> bytes;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  length;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

header tcp_t {
    bit<16> src;
    bit<16> dst;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<16> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

header sctp_t {
    bit<16> src;
    bit<16> dst;
}

// ICMP and ICMPv6.
header icmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
}

// Neighbour discovery (RFC 4861): what solicitations and advertisements have in common, and their first option.
header neighbour_t {
    bit<32>  flags;
    bit<128> target;
}

header neighbour_option_t {
    bit<8>  type;
    bit<8>  length;
    bit<48> address;
}

// In front of packets to the controllers. `flow` is 0 for what no flow matched, and NO_FLOW for what a controller sent.
@controller_header("packet_in")
header packet_in_t {
    bit<16> in_port;
    bit<8>  table_id;
    bit<8>  pad;
    bit<32> flow;
    bit<16> rewrite;
    bit<64> metadata;
}

// In front of packets from them: what to do, and as if it came from which port.
@controller_header("packet_out")
header packet_out_t {
    bit<16> in_port;
    bit<8>  next;
    bit<16> rewrite;
    bit<16> group;
    bit<7>  pad;
    bit<9>  port;
}

struct headers_t {
    packet_in_t        packet_in;
    packet_out_t       packet_out;
    ethernet_t         ethernet;
    vlan_t             vlan;
    vlan_t             inner;
    vlan_t             third;   // only after a push
    arp_t              arp;
    ipv4_t             ipv4;
    ipv4_options_t     ipv4_options;
    ipv6_t             ipv6;
    tcp_t              tcp;
    udp_t              udp;
    sctp_t             sctp;
    icmp_t             icmp;
    neighbour_t        neighbour;
    neighbour_option_t neighbour_option;
}

const bit<32> NO_FLOW = 0xffffffff;

// What a pass does first.
const bit<8> NEXT_FIRST = 0;   // matches the flows of table 0, for a packet from a port
const bit<8> NEXT_TABLE = 1;   // matches the flows of `table_id`
const bit<8> NEXT_OUTPUT = 2;  // uses the outputs in `port` and `rewrite`, or `group`
const bit<8> NEXT_SELECT = 3;  // chooses a bucket of `select_group`

struct meta_t {
    // What the pass before left for this one.
    @field_list(1) bit<16> in_port;
    @field_list(1) bit<8>  next;
    @field_list(1) bit<8>  table_id;
    @field_list(1) bit<9>  port;
    @field_list(1) bit<16> group;
    @field_list(1) bit<16> rewrite;
    @field_list(1) bit<32> select_group;
    @field_list(1) bit<64> metadata;
    @field_list(1) bit<32> flow;
    @field_list(1) bit<8>  passes;
    @field_list(1) bit<1>  quiet;
    bit<1>   refused;
    bit<1>   hairpin;
    // What flows match besides Ethernet addresses. Absent fields are 0. `vlan` begins with a one if there is a tag. IPv4
    // addresses, those in ARP packets too, are the lower 32 bits of `l3_src` and `l3_dst`. ICMP's type and code are `l4_src`
    // and `l4_dst`, and so is ARP's operation `l4_src`. `link_src` and `link_dst` are the link-layer addresses in ARP packets
    // and in options of neighbour discovery.
    bit<16>  eth_type;
    bit<13>  vlan;
    bit<3>   vlan_pcp;
    bit<8>   tos;
    bit<8>   ip_proto;
    bit<128> l3_src;
    bit<128> l3_dst;
    bit<20>  flow_label;
    bit<16>  l4_src;
    bit<16>  l4_dst;
    bit<48>  link_src;
    bit<48>  link_dst;
    bit<128> nd_target;
}
