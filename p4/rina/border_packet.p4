// The headers of a packet of the border router, and what the program remembers about it.

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length;          // bytes, this header included
    bit<16> checksum;        // 0: none
}

const bit<32> IPV4_BYTES = 20;
const bit<32> UDP_BYTES = 8;

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    vlan_t       vlan;
    ipv4_t       ipv4;
    udp_t        udp;
    efcp_t       outer;      // of the (N-1) DIF; only where pdu is what its flow carries
    efcp_t       pdu;        // of the (N) DIF
}

struct meta_t {
    Reason  reason;
    bit<12> vlan;            // that the packet came in; 0: none
    mac_t   mac;             // of the link it came by
    bit<16> dif;             // of pdu; where outer is valid, of outer
    bit<32> efcp_bytes;      // from the first EFCP header to the packet's end

    bit<16> destination;     // that is looked up
    bit<16> next_hop;
    bit<16> lower_next_hop;
    bit<16> flow;            // (N-1) flow that the PDU enters; 0: none
    bit<16> lower_dif;
    bit<1>  congested;       // the (N-1) flow was

    // The link it leaves by.
    bit<9>  egress_port;
    bit<12> next_vlan;
    mac_t   next_src;
    mac_t   next_dst;
    bit<16> mtu;
    bit<16> queue_dif;       // DIF and QoS id by which it is queued: those of the first header
    bit<16> queue_qos_id;
    bit<1>  next_udp;        // UDP over IPv4, between these addresses and ports
    bit<32> next_ip_src;
    bit<32> next_ip_dst;
    bit<16> next_udp_src;
    bit<16> next_udp_dst;
}
