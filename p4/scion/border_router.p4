// The SCION border router's fast path.
//
// A border router connects an autonomous system (AS) to its neighbours. Packets carry their whole path; the
// router finds its own hop in it, checks that its AS has authorised that hop (a MAC), and sends the packet
// on: to a neighbour AS, to the border router of its own AS that has the right link, or to a host.
//
//   parser.p4     frame -> headers around the current hop
//   links.p4      which link the packet came by; which links there are to leave by
//   path.p4       may it come this way and go that way?    mac.p4  hop authentication and expiry
//   one_hop.p4    the special path between neighbours that know no path yet
//   epic.p4       the path type whose packets prove each for itself that they may use the path
//   hummingbird.p4  path type whose hops may reserve bandwidth: only with the macro HUMMINGBIRD
//   bfd.p4        what the agent hears of the routers at the other ends of its links
//   delivery.p4   hosts and services of this AS
//   underlay.p4   new Ethernet, IP and UDP headers       checksum.p4  one's complement sums
//   counters.p4   what is counted                       features.p4  sizes, and what may be left out
//   reasons.p4    why a packet is dropped or goes to the CPU port
//   ingress.p4    all of this in order
//
// Every packet ends in one of three ways. It is forwarded, if each check has passed. It is dropped, if it makes
// no sense and nobody should be told. Or it is punted to the CPU port, unmodified and with the reason, if
// somebody has to answer it. So that "unmodified" costs nothing, all checks that may punt come before the first
// change.
//
// Written for v1model; the only addition is the AES core of crypto.p4. ../tofino has the pipes of Tofino 2 around the same controls; where they
// differ, the macro TOFINO is defined. Behaviour follows the reference router of https://github.com/scionproto/scion, v0.14.0.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

#define PACKET_COUNTER(size) counter(size, CounterType.packets)
#define TRAFFIC_COUNTER(size) counter(size, CounterType.packets_and_bytes)

#include "reasons.p4"
#include "headers.p4"
#include "features.p4"
#include "parser.p4"
#include "checksum.p4"
#include "links.p4"
#include "bfd.p4"
#include "mac.p4"
#include "epic.p4"
#include "hummingbird.p4"
#include "path.p4"
#include "one_hop.p4"
#include "delivery.p4"
#include "underlay.p4"
#include "counters.p4"
#include "ingress.p4"

control VerifyUnderlay(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
                        { hdr.ipv4.version_ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id, hdr.ipv4.fragment,
                          hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

// The IPv4 header checksum is written where the header is.
control ComputeChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control BorderRouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(BorderRouterParser(), VerifyUnderlay(), RouterIngress(), RouterEgress(), ComputeChecksums(),
         BorderRouterDeparser()) main;
