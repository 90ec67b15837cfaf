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

// IEEE 802.2 with SNAP, in frames whose type is a length (RFC 1042). `lead` is 0xaaaa03 and a vendor, which is 0 before EtherTypes.
header snap_t {
    bit<48> lead;
    bit<16> type;
}

// The service instance tag of a provider backbone bridge (IEEE 802.1ah), behind EtherType 0x88e7. The customer's frame follows.
header itag_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<1>  uca;
    bit<3>  reserved;
    bit<24> isid;
}

// An entry of an MPLS label stack (RFC 3032).
header mpls_t {
    bit<20> label;
    bit<3>  tc;
    bit<1>  bos;
    bit<8>  ttl;
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

// An extension header of IPv6 (RFC 8200) that may be followed by another one. Longer ones than `rest` end the parsing.
header ipv6_extension_t {
    bit<8>      next;
    bit<8>      length;
    varbit<560> rest;
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
    bit<32> tag;
    bit<32> checksum;
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

// In front of packets to the controllers. `flow` is 0 for what no flow matched.
@controller_header("packet_in")
header packet_in_t {
    bit<16> in_port;
    bit<8>  table_id;
    bit<8>  pad;
    bit<32> flow;
    bit<16> rewrite;
    bit<64> metadata;
    bit<64> tunnel_id;
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
    itag_t             pushed_itag;      // these two only after a push
    ethernet_t         pushed_customer;
    vlan_t             vlan;
    vlan_t             inner;
    vlan_t             third;            // only after a push
    snap_t             snap;
    itag_t             itag;
    ethernet_t         customer;
    mpls_t             pushed_mpls;      // only after a push
    mpls_t             mpls;
    mpls_t             mpls_below;       // below the first entry: the second one, or the packet
    ipv4_t             ipv4_below;
    ipv6_t             ipv6_below;
    arp_t              arp;
    ipv4_t             ipv4;
    ipv4_options_t     ipv4_options;
    ipv6_t             ipv6;
    ipv6_extension_t[4] extensions;
    tcp_t              tcp;
    udp_t              udp;
    sctp_t             sctp;
    icmp_t             icmp;
    neighbour_t        neighbour;
    neighbour_option_t neighbour_option;
}

// Values of `flow` that are no flow's number: of packets that a controller sent, and of those whose source the bridge is to
// learn.
const bit<32> NO_FLOW = 0xffffffff;
const bit<32> LEARN_FLOW = 0xfffffffe;

// What a pass does first.
const bit<8> NEXT_FIRST = 0;   // matches the flows of table 0, for a packet from a port
const bit<8> NEXT_TABLE = 1;   // matches the flows of `table_id`
const bit<8> NEXT_OUTPUT = 2;  // uses the outputs in `port` and `rewrite`, or `group`
const bit<8> NEXT_SELECT = 3;  // chooses a bucket of `select_group`
const bit<8> NEXT_NORMAL = 4;  // forwards as a bridge that learns addresses

// Which extension headers a packet has (OpenFlow 1.3.5, table 15), as bits of `label`.
const bit<32> EXT_NONE = 1 << 20;
const bit<32> EXT_ESP = 2 << 20;
const bit<32> EXT_AUTHENTICATION = 4 << 20;
const bit<32> EXT_DESTINATION = 8 << 20;
const bit<32> EXT_FRAGMENT = 16 << 20;
const bit<32> EXT_ROUTING = 32 << 20;
const bit<32> EXT_HOP_BY_HOP = 64 << 20;
const bit<32> EXT_REPEATED = 128 << 20;
const bit<32> EXT_OUT_OF_ORDER = 256 << 20;

struct meta_t {
    // What the pass before left for this one.
    @field_list(1) bit<16> in_port;
    @field_list(1) bit<8>  next;
    @field_list(1) bit<8>  table_id;
    @field_list(1) bit<9>  port;
    @field_list(1) bit<16> group;
    @field_list(1) bit<16> rewrite;
    @field_list(1) bit<3>  queue;
    @field_list(1) bit<32> select_group;
    @field_list(1) bit<64> metadata;
    @field_list(1) bit<64> tunnel_id;
    @field_list(1) bit<32> flow;
    @field_list(1) bit<8>  passes;
    @field_list(1) bit<1>  quiet;
    bit<1>   refused;
    bit<1>   hairpin;
    bit<16>  meter;
    bit<2>   color;
    // What flows match besides Ethernet addresses. Absent fields are 0. `vlan` begins with a one if there is a tag. IPv4
    // addresses, those in ARP packets too, are the lower 32 bits of `l3_src` and `l3_dst`. ICMP's type and code are `l4_src`
    // and `l4_dst`, and so is ARP's operation `l4_src`. `link_src` and `link_dst` are the link-layer addresses in ARP packets
    // and in options of neighbour discovery. `label` is, from its lowest bit: of IPv6 the flow label (20 bits) and which
    // extension headers there are (9); of MPLS the label (20), the traffic class (3) and whether it is the bottom of the
    // stack (1); of PBB the service instance (24).
    bit<16>  eth_type;
    bit<13>  vlan;
    bit<3>   vlan_pcp;
    bit<8>   tos;
    bit<8>   ip_proto;
    bit<128> l3_src;
    bit<128> l3_dst;
    bit<32>  label;
    bit<16>  l4_src;
    bit<16>  l4_dst;
    bit<48>  link_src;
    bit<48>  link_dst;
    bit<128> nd_target;
    bit<16>  extension_bytes;
}
