// Why a packet was not forwarded. The reasons index the counter `reasons`, and a punted packet carries its reason.
//
// Below PUNT_FIRST a packet is dropped, from there on it goes to the CPU port as it came.

enum bit<8> Reason {
    NONE                = 0,     // forwarded

    NOT_CONFIGURED      = 1,     // no key, AS number or clock yet
    NOT_EPIC            = 2,     // another EtherType or path type
    MALFORMED           = 3,     // too short, lengths wrong, path inconsistent
    LEVEL               = 4,     // of a lower level than this router asks for
    UNKNOWN_INGRESS     = 5,     // the hop field names another interface than it came by
    INVALID_SOURCE      = 6,     // from outside in the name of this AS, or from inside in another's
    INVALID_DESTINATION = 7,     // the path ends here, the packet is for another AS, or the other way round
    PATH_EXPIRED        = 8,
    HOP_AUTHENTICATOR   = 9,     // the hop field was not made for this path, or not for this packet
    DUPLICATE           = 10,
    UNKNOWN_EGRESS      = 11,    // the hop field names an interface that is none of ours
    NO_HOST             = 12,
    SEGMENT_CHANGE      = 13,    // these two links may not be joined
    VERSION             = 14,    // of the SCION header, not 0
    PEERING             = 15,    // a segment with the peering flag, which is not supported

    STALE               = 64,    // sent too long ago
    FROM_FUTURE         = 65     // sent later than the clocks' difference explains
}

const bit<8>  PUNT_FIRST   = 64;
const bit<32> REASON_COUNT = 128;
