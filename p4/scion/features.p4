// What a chip may be too small for: features that can be left out, and the sizes of tables and counters.
//
// Features, with the macro that leaves each out. Their packets go to the CPU port with reason FEATURE_LEFT_OUT, all others are
// served as with the whole program. What each costs: `hopwright rtl p4/scion/border_router.p4 --report`, with and without `-D MACRO`.
//
//   NO_EPIC          path type EPIC-HP (epic.p4)
//   NO_ONE_HOP       one-hop paths (one_hop.p4)
//   NO_IPV6          IPv6 underlay: links, siblings and hosts with an IPv6 address (links.p4, delivery.p4)
//   NO_OTHER_KEYS    further keys to try while keys are being changed (mac.p4)
//   NO_SIZE_CLASSES  the counters tell packets apart by size (counters.p4); nothing is punted, sizes are not told apart
//
// One that can be added:
//
//   HUMMINGBIRD      path type Hummingbird, an experiment (hummingbird.p4); not with ../tofino
//
// A profile chooses the sizes. Without one they are those of software. What does not fit a table is left to the CPU port. The agent
// needs counters by size.
//
//   PROFILE_ECP5        an LFE5UM5G-85F, whose block RAM holds 3.7 Mbit; implies NO_SIZE_CLASSES
//   PROFILE_ULTRASCALE  an UltraScale+

#ifdef PROFILE_ECP5
#define NO_SIZE_CLASSES
const bit<32> LINK_COUNT = 32;       // links: to other ASes, to sibling routers, and the AS's network
const bit<32> INTERFACE_COUNT = 32;  // interfaces, those of sibling routers too
const bit<32> HOST_COUNT_IPV4 = 256; // hosts of this AS
const bit<32> HOST_COUNT_IPV6 = 64;
const bit<32> SERVICE_BUCKETS = 256; // 64 for each service
#else
#ifdef PROFILE_ULTRASCALE
const bit<32> LINK_COUNT = 256;
const bit<32> INTERFACE_COUNT = 256;
const bit<32> HOST_COUNT_IPV4 = 16384;
const bit<32> HOST_COUNT_IPV6 = 16384;
#else
const bit<32> LINK_COUNT = 4096;
#ifdef TOFINO
const bit<32> INTERFACE_COUNT = 4096;
#else
const bit<32> INTERFACE_COUNT = 65536;
#endif
const bit<32> HOST_COUNT_IPV4 = 65536;
const bit<32> HOST_COUNT_IPV6 = 65536;
#endif
const bit<32> SERVICE_BUCKETS = 1024;
#endif

// The path types that the program was made for and that have been left out.
bool is_left_out(in bit<8> path_type) {
#ifdef NO_EPIC
    if (path_type == PATH_EPIC) {
        return true;
    }
#endif
#ifdef NO_ONE_HOP
    if (path_type == PATH_ONE_HOP) {
        return true;
    }
#endif
    return false;
}

#ifdef HUMMINGBIRD
// Reservations that are policed at the same time, at most.
const bit<32> RESERVATION_BUCKETS = 65536;

// A SCION path of one kind or the other; whether the current hop is behind the first.
#define HAS_PATH(hdr) (hdr.path.isValid() || hdr.hummingbird.isValid())
#define IS_BEHIND_FIRST_HOP(hdr) (hdr.path.isValid() ? hdr.path.curr_hf != 0 : hdr.hummingbird.curr_hf != 0)
#else
#define HAS_PATH(hdr) hdr.path.isValid()
#define IS_BEHIND_FIRST_HOP(hdr) hdr.path.curr_hf != 0
#endif
