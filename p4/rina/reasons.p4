// What becomes of a packet. Each reason has a counter in `reasons`.

enum bit<8> Reason {
    FORWARDED            = 0,

    // Dropped.
    UNKNOWN_LINK         = 1,    // ingress port and VLAN have no entry in `links`
    OTHER_MAC            = 2,    // addressed to another station
    UNKNOWN_TYPE         = 3,    // EtherType without a meaning here
    MALFORMED            = 4,    // too short, or lengths that contradict each other
    BAD_CHECKSUM         = 5,    // header checksum of an EFCP PDU or IPv4 packet
    BAD_CRC              = 6,    // CRC of a protected PDU
    UNKNOWN_VERSION      = 7,    // of EFCP
    UNKNOWN_PDU_TYPE     = 8,
    NO_DESTINATION       = 9,    // no entry for the destination address, or none for it with this QoS id
    LIFETIME             = 10,   // TTL used up
    TOO_LONG             = 11,   // PDU longer than the next link takes
    UNPROTECTED          = 12,   // the next link wants a CRC, and the PDU came by one that has none
    UNREACHABLE          = 13,   // no next hop of a PDU is left
    LINK_GROUP           = 14,   // unicast packet or PDU in a multicast or broadcast frame
    MARTIAN_SOURCE       = 15,   // IPv4: RFC 1812, section 5.3.7; RFC 6890
    MARTIAN_DESTINATION  = 16,
    BLACKHOLE            = 17,   // the IPv4 route says so
    SHIM                 = 18,   // border router: UDP datagram between addresses and ports that are no link

    // Punted: to the CPU port, unmodified.
    MANAGEMENT           = 32,   // layer-management PDU to address 0, which is whoever receives it, or to the router
    NO_ROUTE_MANAGEMENT  = 33,   // layer-management PDU to an address without an entry
    LOCAL_PDU            = 34,   // other PDU to an address of the router
    ARP                  = 35,   // ARP, for IPv4 and for RINA names
    LINK_LAYER           = 36,   // LLC and LLDP
    OPTIONS              = 37,   // IPv4 options
    LOCAL                = 38,   // IPv4 address of the router
    MULTICAST            = 39,
    BROADCAST            = 40,
    NO_ROUTE             = 41,   // IPv4 destination unreachable
    HOP_LIMIT            = 42,   // IPv4 time exceeded
    UNRESOLVED           = 43,   // the neighbour's link-layer address is not known
    TOO_BIG              = 44    // IPv4 packet longer than the next link takes
}

const bit<8> FIRST_PUNTED = 32;
const bit<32> REASON_COUNT = 64;
