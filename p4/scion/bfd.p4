// Bidirectional Forwarding Detection (RFC 5880): the agent speaks it; here is decided what it gets to hear.
//
// A session belongs to a link, and only the link's other end may speak for it. Its packets have a queue to the agent
// of their own, which nobody may fill: one packet of each link in a while will do.

const bit<48> BFD_PAUSE = 500;   // microseconds between two packets of a link that are let through

control CheckBfd(inout metadata_t meta, in standard_metadata_t std) {
    // By link, as the agent numbers them: when a packet was let through, in microseconds. The clock may be set back.
    // Two packets at the same moment may both pass.
    @concurrent
    register<bit<48>>(LINK_COUNT) bfd_heard;
    bit<48> heard = 0;

    apply {
        if (meta.source.scope == LinkScope.INTERNAL) {
            meta.reason = Reason.BFD_FROM_HOST;
            return;
        }
        bfd_heard.read(heard, (bit<32>) meta.source.index);
        if (std.ingress_global_timestamp - heard < BFD_PAUSE) {
            meta.reason = Reason.BFD_TOO_OFTEN;
            return;
        }
        bfd_heard.write((bit<32>) meta.source.index, std.ingress_global_timestamp);
        meta.reason = Reason.BFD;
    }
}
