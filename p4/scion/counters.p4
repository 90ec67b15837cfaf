// What is counted: traffic by link, kind and size; packets that were not forwarded by link and reason.
//
// One increment for what comes in and one for what goes out: everything else is in the index. Bytes are those of the
// frame as it was received; the agent takes off what is in front of the SCION packet.

control CountReceived(in headers_t hdr, inout metadata_t meta) {
#ifdef NO_SIZE_CLASSES
    // By link, and whether there is a packet_out_t in front.
    TRAFFIC_COUNTER(LINK_COUNT << 1) link_in;
#else
    // By link, whether there is a packet_out_t in front, and size.
    TRAFFIC_COUNTER(LINK_COUNT << 6) link_in;
    bit<16> size = 0;
#endif

    apply {
#ifndef NO_SIZE_CLASSES
        // Steps of 64 bytes of SCION packet below 1024, then of 1024: every power of two is a boundary. A datagram that
        // says that it is shorter than its own header has no SCION packet.
        size = hdr.udp.length - UDP_BYTES;
        if (size < 1024) {
            meta.size = 1w0 ++ size[9:6];
        } else if (size < 16384) {
            meta.size = 1w1 ++ size[13:10];
        } else {
            meta.size = hdr.udp.length < UDP_BYTES ? 5w0 : 5w31;
        }
#endif
        meta.front = (bit<1>) hdr.packet_out.isValid() ++ (bit<1>) hdr.ipv6.isValid();
        // What the agent sends once more has been counted when it came, unless it came in a form that only the agent
        // understands.
        if (!hdr.packet_out.isValid() || hdr.packet_out.port == RECEIVED) {
#ifdef NO_SIZE_CLASSES
            link_in.count((bit<32>) (meta.source.index ++ (bit<1>) hdr.packet_out.isValid()));
#else
            link_in.count((bit<32>) (meta.source.index ++ (bit<1>) hdr.packet_out.isValid() ++ meta.size));
#endif
        }
    }
}

control CountForwarded(in headers_t hdr, inout metadata_t meta) {
#ifdef NO_SIZE_CLASSES
    // By link, kind of traffic, and what is in front of the SCION packet.
    TRAFFIC_COUNTER(LINK_COUNT << 5) link_out;
#else
    // By link, kind of traffic, what is in front of the SCION packet, and size.
    TRAFFIC_COUNTER(LINK_COUNT << 10) link_out;
#endif
    Traffic traffic = Traffic.OTHER;

    apply {
        if (hdr.scion.path_type != PATH_ONE_HOP) {
            if (meta.target.scope == LinkScope.INTERNAL) {
                traffic = Traffic.IN;
            } else if (meta.target.scope == LinkScope.SIBLING) {
                traffic = Traffic.IN_TRANSIT;
            } else if (meta.source.scope == LinkScope.EXTERNAL) {
                traffic = Traffic.BR_TRANSIT;
            } else if (hdr.scion.src_ia == meta.router.ia) {
                traffic = Traffic.OUT;
            } else {
                traffic = Traffic.OUT_TRANSIT;
            }
        }
#ifdef NO_SIZE_CLASSES
        link_out.count((bit<32>) (meta.target.index ++ (bit<3>) traffic ++ meta.front));
#else
        link_out.count((bit<32>) (meta.target.index ++ (bit<3>) traffic ++ meta.front ++ meta.size));
#endif
    }
}

// Of packets whose link is known.
control CountRefused(inout metadata_t meta) {
    // By link and reason.
    PACKET_COUNTER(LINK_COUNT << 7) link_reasons;
#ifdef NO_SIZE_CLASSES
    // Dropped ones by link.
    PACKET_COUNTER(LINK_COUNT) link_dropped;
#else
    // Dropped ones by link and size.
    PACKET_COUNTER(LINK_COUNT << 5) link_dropped;
#endif

    apply {
        link_reasons.count((bit<32>) (meta.source.index ++ ((bit<8>) meta.reason)[6:0]));
        if ((bit<8>) meta.reason < PUNT_FIRST) {
#ifdef NO_SIZE_CLASSES
            link_dropped.count((bit<32>) meta.source.index);
#else
            link_dropped.count((bit<32>) (meta.source.index ++ meta.size));
#endif
        }
    }
}
