// The headers of a packet of the interior router, and what the program remembers about it.

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    vlan_t       vlan;
    efcp_t       efcp;
    ttl_t        ttl;
    irati_t      irati;
    rlite_t      rlite;
    sdu_t        sdu;
    crc_t        crc;
    ipv4_t       ipv4;
    ports_t      ports;
}

struct meta_t {
    Reason  reason;
    bit<12> vlan;            // that the packet came in; 0: none

    // The link it came by.
    mac_t   mac;
    bit<16> dif;             // which DIF the link belongs to
    bit<32> hash_seed;
    bit<1>  link_group;      // the frame came as a link-layer multicast or broadcast

    // Of an EFCP PDU, numbers in network byte order.
    bit<16> dst;
    bit<16> src;
    bit<16> qos_id;
    bit<8>  pdu_type;
    bit<16> pdu_bytes;

    // Where it goes.
    bit<16> next_hop;
    bit<16> group;           // of next hops; 0: there is one
    bit<16> flow;            // hash of the flow
    bit<32> route;           // index of the IPv4 route's counter
    bit<32> length;          // bytes that the packet puts on the next link behind its Ethernet and VLAN headers
    bit<9>  egress_port;
    bit<12> next_vlan;
    bit<1>  next_ttl;        // whether the next link's PDUs have a TTL
    bit<1>  next_crc;        // ... a CRC
    mac_t   next_src;
    mac_t   next_dst;
    bit<16> mtu;
}
