// Why a packet did not take the fast path.
//
// The one list of reasons. They index the counter `reasons`, and a punted packet carries its reason in
// `packet_in_t`. The agent's list is generated from this one.
//
// Below PUNT_FIRST a packet is dropped, from there on it goes to the CPU port as it came.

enum bit<8> Reason {
    NONE                       = 0,

    // Dropped. The reference router discards these silently, too.
    NOT_CONFIGURED             = 1,   // no entry of the agent yet
    NOT_FOR_US                 = 2,   // no UDP over IPv4 or IPv6, or not to an address of ours
    MALFORMED                  = 3,   // too short, lengths or header order wrong, path inconsistent
    BAD_IP_CHECKSUM            = 4,   // IPv4 header checksum wrong, or UDP over IPv6 without checksum
    UNSUPPORTED_PATH_TYPE      = 5,
    SINGLETON_SEGMENT          = 6,   // a segment of one hop outside of a peering path
    MALFORMED_PEERING          = 7,   // peering flag on a path that is not of two segments
    INVALID_TRANSIT_SOURCE     = 8,   // transit traffic from another host than the router it had to enter by
    PATH_ENDS                  = 9,   // to be sent on, but there is no further hop
    UNKNOWN_L4                 = 10,  // no port to deliver to can be found
    ONE_HOP_DIRECTION          = 11,  // one-hop path against construction direction
    ONE_HOP_SOURCE             = 12,  // one-hop path from an AS that is not at the other end of the link
    ONE_HOP_DESTINATION        = 13,  // one-hop path to an AS that is not at the other end of the link
    ONE_HOP_INTERFACE          = 14,  // one-hop path by an interface that this router does not own
    ONE_HOP_MAC                = 15,
    ONE_HOP_UNDELIVERABLE      = 16,  // one-hop path to an unknown service or unusable address
    UNDERLAY_MISMATCH          = 17,  // IPv6 destination in an AS with IPv4 underlay or the other way round
    EPIC_TOO_OLD               = 18,  // EPIC-HP packet that was sent too long ago
    EPIC_FROM_FUTURE           = 19,  // ... or will be sent only later
    EPIC_HVF                   = 20,  // ... or whose hop validation field is wrong
    BFD_FROM_HOST              = 21,  // BFD from inside that is not from a sibling router
    BFD_TOO_OFTEN              = 22,  // more BFD packets than a session sends
    WRONG_DEVICE               = 23,  // by another device than the one that has the address it came to
    OWN_PORT                   = 24,  // to be delivered to the router's own address and port: it would come back

    // Punted: somebody must answer, or look closer.
    IP_OPTIONS                 = 64,  // IPv4 options or a fragment
    BFD                        = 65,  // Bidirectional Forwarding Detection between routers
    PATH_EXPIRED               = 67,  // ParameterProblem, pointing at the hop field
    UNKNOWN_INGRESS            = 68,  // the hop field names another interface than it came by
    INVALID_PACKET_SIZE        = 69,  // PayloadLen is not what follows the SCION header
    INVALID_SOURCE_IA          = 70,
    INVALID_DESTINATION_IA     = 71,
    INVALID_SOURCE_HOST        = 72,
    INVALID_HOP_MAC            = 73,
    INGRESS_ALERT              = 74,  // traceroute asks the router where the packet enters the AS
    EGRESS_ALERT               = 75,  // ... or leaves it
    NO_SERVICE                 = 76,  // DestinationUnreachable: no instance of the service
    INVALID_DESTINATION_HOST   = 77,
    UNKNOWN_EGRESS             = 78,  // the hop field names an interface that is none of ours
    INVALID_PATH               = 79,  // these two link types may not follow each other in a segment
    INVALID_SEGMENT_CHANGE     = 80,  // ... or at a segment change
    INTERFACE_DOWN             = 81,  // ExternalInterfaceDown or InternalConnectivityDown
    NEXT_HOP_UNRESOLVED        = 82,  // no link-layer address yet
    SCMP_ERROR                 = 83,  // error message for a host of ours: the port is in the quoted packet
    NO_UDP_CHECKSUM            = 84,  // must go out over IPv6, which wants a checksum, and came without
    PACKET_TOO_BIG             = 85,  // longer than the MTU of the link it would leave by
    FEATURE_LEFT_OUT           = 86,  // of a feature that this program was compiled without (features.p4)
    STUN                       = 87   // a host asks for its address (RFC 5389)
}

const bit<8> PUNT_FIRST = 64;
const bit<32> REASON_COUNT = 128;
