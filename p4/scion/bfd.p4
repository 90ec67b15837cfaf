// Bidirectional Forwarding Detection (RFC 5880): the agent speaks it; here is decided what it gets to hear.
//
// A session belongs to a link, and only the link's other end may speak for it. Its packets have a queue to the agent
// of their own, which nobody may fill: one packet of each link in a while will do.

const bit<48> BFD_PAUSE = 500;   // microseconds between two packets of a link that are let through

control CheckBfd(inout metadata_t meta, in standard_metadata_t std) {
    // By link, as the agent numbers them: when a packet was let through, in microseconds. The clock may be set back.
    // Two packets at the same moment may both pass.
    @concurrent
#ifdef TOFINO
    Register<bit<32>, bit<32>>(LINK_COUNT) bfd_heard;

    RegisterAction<bit<32>, bit<32>, bit<1>>(bfd_heard) hear = {
        void apply(inout bit<32> heard, out bit<1> too_often) {
            if (std.ingress_global_timestamp[31:0] - heard < BFD_PAUSE[31:0]) {
                too_often = 1;
            } else {
                too_often = 0;
                heard = std.ingress_global_timestamp[31:0];
            }
        }
    };
#else
    register<bit<48>>(LINK_COUNT) bfd_heard;
    bit<48> heard = 0;
#endif

    apply {
        if (meta.source.scope == LinkScope.INTERNAL) {
            meta.reason = Reason.BFD_FROM_HOST;
            return;
        }
#ifdef TOFINO
        if (hear.execute((bit<32>) meta.source.index) == 1) {
            meta.reason = Reason.BFD_TOO_OFTEN;
            return;
        }
#else
        bfd_heard.read(heard, (bit<32>) meta.source.index);
        if (std.ingress_global_timestamp - heard < BFD_PAUSE) {
            meta.reason = Reason.BFD_TOO_OFTEN;
            return;
        }
        bfd_heard.write((bit<32>) meta.source.index, std.ingress_global_timestamp);
#endif
        meta.reason = Reason.BFD;
    }
}
