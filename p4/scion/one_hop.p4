// Path type one-hop: how neighbours talk before they know a path, for beacons above all.
//
// The sender's AS fills in the first hop; the receiving router fills in the second, so that the receiver has
// a complete path to answer on. Always in construction direction. What is wrong here is dropped, not answered.
// The hop fields are where those of a SCION path are: `hop` is the sender's, `hop_next` the one to fill in.

control CheckOneHop(in headers_t hdr, inout metadata_t meta) {
    bit<16> interface = 0;
    bit<64> neighbour = 0;

    action is_at(bit<64> ia) {
        neighbour = ia;
    }

    // The AS at the other end of an interface of this router.
    table neighbours {
        key = { interface: exact @name("interface"); }
        actions = { is_at; @defaultonly NoAction; }
        default_action = NoAction();
        size = LINK_COUNT;
    }

    apply {
        if (hdr.info.cons_dir == 0) {
            meta.reason = Reason.ONE_HOP_DIRECTION;
            return;
        }
        interface = meta.source.scope == LinkScope.EXTERNAL ? meta.source.interface : hdr.hop.cons_egress;
        neighbours.apply();
        if (meta.source.scope == LinkScope.EXTERNAL) {
            // From the neighbour, and no further than here.
            if (hdr.scion.dst_ia != meta.router.ia) {
                meta.reason = Reason.ONE_HOP_DESTINATION;
            } else if (hdr.scion.src_ia != neighbour) {
                meta.reason = Reason.ONE_HOP_SOURCE;
            }
        } else {
            // From here, and no further than to the neighbour.
            if (hdr.scion.src_ia != meta.router.ia) {
                meta.reason = Reason.ONE_HOP_SOURCE;
            } else if (neighbour == 0) {
                meta.reason = Reason.ONE_HOP_INTERFACE;
            } else if (hdr.scion.dst_ia != neighbour) {
                meta.reason = Reason.ONE_HOP_DESTINATION;
            }
        }
    }
}

// Continues the chain on the way out; adds the second hop on the way in.
control AdvanceOneHop(inout headers_t hdr, inout metadata_t meta) {
    bit<16> seg_id = 0;

    apply {
        if (meta.target.scope == LinkScope.EXTERNAL) {
            seg_id = next_seg_id(hdr.info.seg_id, hdr.hop.mac);
            meta.changes = meta.changes + sum_change16(hdr.info.seg_id, seg_id);
            hdr.info.seg_id = seg_id;
        } else {
            meta.changes = meta.changes
                - sum_hop(hdr.hop_next.reserved ++ hdr.hop_next.ingress_alert ++ hdr.hop_next.egress_alert,
                          hdr.hop_next.exp_time, hdr.hop_next.cons_ingress, hdr.hop_next.cons_egress,
                          hdr.hop_next.mac)
                + sum_hop(0, hdr.hop.exp_time, meta.source.interface, 0, meta.new_hop_mac);
            hdr.hop_next.reserved = 0;
            hdr.hop_next.ingress_alert = 0;
            hdr.hop_next.egress_alert = 0;
            hdr.hop_next.exp_time = hdr.hop.exp_time;
            hdr.hop_next.cons_ingress = meta.source.interface;
            hdr.hop_next.cons_egress = 0;
            hdr.hop_next.mac = meta.new_hop_mac;
        }
    }
}
