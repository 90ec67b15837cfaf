// What becomes of a packet. Each reason has a counter in `reasons`.

enum bit<8> Reason {
    FORWARDED            = 0,

    // Dropped.
    UNKNOWN_PORT         = 1,    // the ingress port has no entry in `ports`, or its VLAN is down
    OTHER_MAC            = 2,    // addressed to another station
    UNKNOWN_TYPE         = 3,    // not used any more: see LINK_LAYER
    MALFORMED            = 4,    // RFC 1812, section 5.2.2; RFC 8200, section 3
    BAD_CHECKSUM         = 5,    // RFC 1812, section 5.2.2
    MARTIAN_SOURCE       = 6,    // RFC 1812, section 5.3.7; RFC 4291, section 2.5; RFC 6890
    MARTIAN_DESTINATION  = 7,
    LINK_GROUP           = 8,    // unicast packet in a multicast or broadcast frame: RFC 1812, section 5.3.4
    BLACKHOLE            = 9,    // the route says so

    // Punted: to the CPU port, unmodified.
    ARP                  = 32,
    LINK_LAYER           = 33,   // LLC, LLDP, EtherTypes without a meaning here, and VLANs without an entry in `vlans`
    OPTIONS              = 34,   // IPv4 options
    HOP_BY_HOP           = 35,   // IPv6 hop-by-hop options
    LOCAL                = 36,   // an address of the router, or a directed broadcast to one of its networks
    MULTICAST            = 37,
    BROADCAST            = 38,
    LINK_LOCAL           = 39,   // IPv6 link-local source or destination
    NO_ROUTE             = 40,   // destination unreachable
    HOP_LIMIT            = 41,   // time exceeded
    UNRESOLVED           = 42,   // the neighbour's link-layer address is not known
    TOO_BIG              = 43,   // longer than the egress port's MTU
    KERNEL_ROUTE         = 44,   // the route leads by a device that is no port, such as a tunnel
    REDIRECT             = 45,   // the sender may be told of a better first hop: RFC 1812, section 5.2.7.2; RFC 4861, section 8.2
    POLICY               = 46    // only the kernel can say: filters, rules, checks of sources, devices on top of the port
}

const bit<8> FIRST_PUNTED = 32;
const bit<32> REASON_COUNT = 64;
