// Path type SCION: is this packet allowed to come from where it comes and to go where it wants to?
//
// The checks follow the order of the reference router (router/dataplane.go, process), so that a packet with
// several faults gets the same answer. They decide only; nothing in the packet changes before all is well.

// Which kinds of link may follow each other within a segment. Peering links count as within.
bool allowed_in_segment(in LinkType from, in LinkType to) {
    return (from == LinkType.CORE && to == LinkType.CORE)
        || (from == LinkType.CHILD && (to == LinkType.PARENT || to == LinkType.PEER))
        || ((from == LinkType.PARENT || from == LinkType.PEER) && to == LinkType.CHILD);
}

// The same for a change of segment. From inside the AS none is: the router where the packet entered has done it.
bool allowed_at_change(in LinkType from, in LinkType to) {
    return (from == LinkType.CHILD && (to == LinkType.CHILD || to == LinkType.CORE))
        || (from == LinkType.CORE && to == LinkType.CHILD);
}

// First half: everything about the hop by which the packet came.
control CheckIngressHop(in headers_t hdr, inout metadata_t meta) {
#ifdef HUMMINGBIRD
    CheckSegments() check_segments;
#endif
    bit<1> from_outside = 0;
    bit<16> entered_by = 0;

    // Which sibling router has which interfaces: a packet in transit must come from the one it entered by.
    table sibling_interfaces {
        key = {
            meta.source.sibling: exact @name("sibling");
            entered_by: exact @name("interface");
        }
        actions = { NoAction; }
        const default_action = NoAction();
        size = INTERFACE_COUNT;
    }

    apply {
        from_outside = (bit<1>) (meta.source.scope == LinkScope.EXTERNAL);

#ifdef HUMMINGBIRD
        if (hdr.hummingbird.isValid()) {
            check_segments.apply(hdr, meta);
            if (meta.reason != Reason.NONE) {
                return;
            }
        } else
#endif
        // A segment of a single hop exists only at a peering link.
        if (hdr.info.peering == 0) {
            if (hdr.path.seg0_len == 1 || hdr.path.seg1_len == 1 || hdr.path.seg2_len == 1) {
                meta.reason = Reason.SINGLETON_SEGMENT;
                return;
            }
        } else {
            if (hdr.path.seg0_len == 0 || hdr.path.seg1_len == 0 || hdr.path.seg2_len != 0) {
                meta.reason = Reason.MALFORMED_PEERING;
                return;
            }
        }

        if (is_expired(hdr.info.timestamp, hdr.hop.exp_time, meta.router.now)) {
            meta.reason = Reason.PATH_EXPIRED;
            return;
        }

        if (hdr.info.cons_dir == 1) {
            entered_by = hdr.hop.cons_ingress;
        } else {
            entered_by = hdr.hop.cons_egress;
        }
        if (from_outside == 1 && entered_by != meta.source.interface) {
            meta.reason = Reason.UNKNOWN_INGRESS;
            return;
        }

        if (hdr.udp.length - UDP_BYTES - ((bit<16>) hdr.scion.hdr_len << 2) != hdr.scion.payload_len) {
            meta.reason = Reason.INVALID_PACKET_SIZE;
            return;
        }

        if (from_outside == 1) {
            // No AS may send in our name, and the path ends where the packet is going.
            if (hdr.scion.src_ia == meta.router.ia) {
                meta.reason = Reason.INVALID_SOURCE_IA;
                return;
            }
            if ((hdr.scion.dst_ia == meta.router.ia) != (meta.last_of_path == 1)) {
                meta.reason = Reason.INVALID_DESTINATION_IA;
                return;
            }
        } else {
            if (IS_BEHIND_FIRST_HOP(hdr)) {
                // In transit. Right behind a segment change, the previous segment says where it entered.
                if (meta.first_of_segment == 1 && meta.peering == 0) {
                    entered_by = hdr.info_prev.cons_dir == 1 ? hdr.hop_prev.cons_ingress
                                                             : hdr.hop_prev.cons_egress;
                }
                if (meta.source.scope == LinkScope.SIBLING) {
                    if (!sibling_interfaces.apply().hit) {
                        meta.reason = Reason.INVALID_TRANSIT_SOURCE;
                        return;
                    }
                } else if (entered_by != 0) {
                    meta.reason = Reason.INVALID_TRANSIT_SOURCE;
                    return;
                }
            } else if (hdr.scion.src_ia != meta.router.ia) {
                meta.reason = Reason.INVALID_SOURCE_IA;
                return;
            }
            if (hdr.scion.dst_ia == meta.router.ia) {
                meta.reason = Reason.INVALID_DESTINATION_IA;
                return;
            }
            if (hdr.scion.src_ia == meta.router.ia) {
                // A host of ours: IPv4, or IPv6 but not IPv4 in disguise. Nobody can answer a service.
                bit<4> host = hdr.scion.src_type ++ hdr.scion.src_len;
                if ((host != HOST_IPV4 && host != HOST_IPV6)
                    || (host == HOST_IPV6 && hdr.src16.addr[127:32] == 0xffff)) {
                    meta.reason = Reason.INVALID_SOURCE_HOST;
                    return;
                }
            }
        }
    }
}

// Second half, for packets that leave the AS or go to the router where they will: the interface they go by.
control CheckEgressHop(in headers_t hdr, inout metadata_t meta) {
    FindInterface() find_interface;
    bit<16> interface = 0;
    bit<1> alert = 0;

    apply {
        meta.at_next_hop = meta.segment_change;
        if (meta.segment_change == 1) {
            if (hdr.info_next.cons_dir == 1) {
                interface = hdr.hop_next.cons_egress;
                alert = hdr.hop_next.egress_alert;
            } else {
                interface = hdr.hop_next.cons_ingress;
                alert = hdr.hop_next.ingress_alert;
            }
        } else {
            if (hdr.info.cons_dir == 1) {
                interface = hdr.hop.cons_egress;
                alert = hdr.hop.egress_alert;
            } else {
                interface = hdr.hop.cons_ingress;
                alert = hdr.hop.ingress_alert;
            }
        }
        find_interface.apply(interface, meta);
        if (meta.reason != Reason.NONE) {
            return;
        }
        if (hdr.scion.path_type == PATH_ONE_HOP) {
            // Beacons use the link whether or not it is thought to be up; they are sent where it ends.
            if (meta.target.scope != LinkScope.EXTERNAL) {
                meta.reason = Reason.ONE_HOP_INTERFACE;
            } else if (meta.target.status == LinkState.UNRESOLVED) {
                meta.reason = Reason.NEXT_HOP_UNRESOLVED;
            }
            return;
        }
        if (meta.target.scope == LinkScope.SIBLING && meta.source.scope != LinkScope.EXTERNAL) {
            // From inside a packet must come to the router that has the interface.
            meta.reason = Reason.UNKNOWN_EGRESS;
            return;
        }
        if (meta.segment_change == 1) {
            if (!allowed_at_change(meta.source.relation, meta.target.relation)) {
                meta.reason = Reason.INVALID_SEGMENT_CHANGE;
                return;
            }
        } else if (meta.source.scope == LinkScope.EXTERNAL) {
            if (!allowed_in_segment(meta.source.relation, meta.target.relation)) {
                meta.reason = Reason.INVALID_PATH;
                return;
            }
        }
        if (alert == 1 && meta.target.scope == LinkScope.EXTERNAL) {
            meta.reason = Reason.EGRESS_ALERT;
            return;
        }
        if (meta.target.status != LinkState.UP) {
            meta.reason = meta.target.status == LinkState.DOWN ? Reason.INTERFACE_DOWN
                                                              : Reason.NEXT_HOP_UNRESOLVED;
            return;
        }
        if (meta.last_of_path == 1 && meta.target.scope == LinkScope.EXTERNAL) {
            meta.reason = Reason.PATH_ENDS;
            return;
        }
        if (hdr.udp.length > meta.target.udp_limit) {
            meta.reason = Reason.PACKET_TOO_BIG;
        }
    }
}

// Writes the path for the next router. Only now, when nothing can go wrong any more.
control AdvancePath(inout headers_t hdr, inout metadata_t meta) {
    bit<1> leaves = 0;
    bit<2> curr_inf = 0;
    bit<6> curr_hf = 0;
    bit<16> seg_id = 0;

    apply {
        leaves = (bit<1>) (meta.target.scope == LinkScope.EXTERNAL);

        // SegID of the segment it came by. In construction direction the router at the exit continues the
        // chain with this hop's MAC; at a segment change that concerns the next segment.
        seg_id = meta.seg_id;
        if (leaves == 1 && hdr.info.cons_dir == 1 && meta.peering == 0 && meta.segment_change == 0) {
            seg_id = next_seg_id(seg_id, hdr.hop.mac);
        }
        meta.changes = meta.changes + sum_change16(hdr.info.seg_id, seg_id);
        hdr.info.seg_id = seg_id;

        // CurrINF and CurrHF. Within the AS they stay, but for a segment change.
        curr_inf = hdr.path.curr_inf;
        curr_hf = hdr.path.curr_hf;
        if (meta.segment_change == 1) {
            curr_inf = curr_inf + 1;
            curr_hf = curr_hf + 1;
            if (leaves == 1 && hdr.info_next.cons_dir == 1) {
                seg_id = next_seg_id(hdr.info_next.seg_id, hdr.hop_next.mac);
                meta.changes = meta.changes + sum_change16(hdr.info_next.seg_id, seg_id);
                hdr.info_next.seg_id = seg_id;
            }
        } else if (leaves == 1 && meta.last_of_segment == 1) {
            // Over the peering link into the other segment.
            curr_inf = curr_inf + 1;
        }
        if (leaves == 1) {
            curr_hf = curr_hf + 1;
        }
        meta.changes = meta.changes + sum_change16(hdr.path.curr_inf ++ hdr.path.curr_hf ++ 8w0,
                                                   curr_inf ++ curr_hf ++ 8w0);
        hdr.path.curr_inf = curr_inf;
        hdr.path.curr_hf = curr_hf;
        // Whoever moves on in the path writes the path meta header anew, without what is reserved.
        if (hdr.path.reserved != 0 && (leaves == 1 || meta.segment_change == 1)) {
            meta.changes = meta.changes + sum_change16(8w0 ++ hdr.path.reserved ++ 2w0, 0);
            hdr.path.reserved = 0;
        }
    }
}
